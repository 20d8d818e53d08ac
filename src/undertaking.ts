import { AsyncLocalStorage } from 'node:async_hooks';

/** Something that work is done for, until it is over. */
export class Undertaking {
  #isOver = false;

  /** Whether all of it is done: work that was begun in it and still goes on doesn't belong to it any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** All of it is done. */
  finish(): void {
    this.#isOver = true;
    // When nothing is under way, nobody has to be told apart: what is remembered of what work was done for is all over.
    if (underWay.delete(this) && underWay.size === 0) frames.disable();
  }
}

interface Frame {
  readonly undertaking: Undertaking;
  readonly around: Frame | undefined;
}

// One for all: Node, before 24, asks each AsyncLocalStorage that was run at every promise of the process, until it is disabled.
const frames = new AsyncLocalStorage<Frame>();
/** What work was begun for, and isn't over. */
const underWay = new Set<Undertaking>();

/** Does `work` for an undertaking: whatever it calls or begins is done for it too, until it is over. */
export function runFor<T>(undertaking: Undertaking, work: () => T): T {
  if (undertaking.isOver) return work();
  underWay.add(undertaking);
  return frames.run({ undertaking, around: unfinished(frames.getStore()) }, work);
}

/** Does `work` for nothing, whatever the work that calls this is done for. */
export function runApart<T>(work: () => T): T {
  return frames.exit(work);
}

const NONE: readonly Undertaking[] = [];

/** What the work that calls this is done for, the innermost first. */
export function undertakingsAround(): readonly Undertaking[] {
  let frame = frames.getStore();
  if (frame === undefined) return NONE;
  const around: Undertaking[] = [];
  for (; frame !== undefined; frame = frame.around) {
    if (!frame.undertaking.isOver) around.push(frame.undertaking);
  }
  return around;
}

/** Whether the work that calls this is done for `undertaking`, whatever else it is done for. */
export function isWithin(undertaking: Undertaking): boolean {
  return undertakingsAround().includes(undertaking);
}

/** Without what is over: work that begins itself anew at its end would keep all that it ever was. */
function unfinished(frame: Frame | undefined): Frame | undefined {
  if (frame === undefined) return undefined;
  const around = unfinished(frame.around);
  if (frame.undertaking.isOver) return around;
  return around === frame.around ? frame : { undertaking: frame.undertaking, around };
}

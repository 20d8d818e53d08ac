import { AsyncLocalStorage } from 'node:async_hooks';

/** Something that work is done for. */
export interface Undertaking {
  /** Whether all of it is done: work that was begun in it and still goes on doesn't belong to it any more. */
  readonly isOver: boolean;
}

interface Frame {
  readonly undertaking: Undertaking;
  readonly around: Frame | undefined;
}

// One for all: Node keeps every AsyncLocalStorage that was ever run, and asks each of them at every promise.
const frames = new AsyncLocalStorage<Frame>();

/** Does `work` for an undertaking: whatever it calls or begins is done for it too. */
export function runFor<T>(undertaking: Undertaking, work: () => T): T {
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

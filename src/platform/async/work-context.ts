import { AsyncLocalStorage } from 'node:async_hooks';

/** Something that work is done for, until it is over. */
export class WorkContext {
  #state: 'ahead' | 'under way' | 'over' = 'ahead';

  /** Whether all of it is done: work that was begun in it and still goes on doesn't belong to it any more. */
  get hasEnded(): boolean {
    return this.#state === 'over';
  }

  /** @internal Work for it begins. */
  begin(): void {
    if (this.#state !== 'ahead') return;
    this.#state = 'under way';
    underWay++;
  }

  /** All of it is done. */
  finish(): void {
    const wasUnderWay = this.#state === 'under way';
    this.#state = 'over';
    // When nothing is under way, nobody has to be told apart: what is remembered of what work was done for is all over.
    if (wasUnderWay && --underWay === 0) frames.disable();
  }
}

interface Frame {
  readonly undertaking: WorkContext;
  readonly around: Frame | undefined;
}

// One for all: Node, before 24, asks each AsyncLocalStorage that was run at every promise of the process, until it is disabled.
const frames = new AsyncLocalStorage<Frame>();
/** For how many undertakings work was begun that aren't over. Not which: work that never ends would keep all that it is about. */
let underWay = 0;

/** Does `work` for an undertaking: whatever it calls or begins is done for it too, until it is over. */
export function runWithin<T>(undertaking: WorkContext, work: () => T): T {
  if (undertaking.hasEnded) return work();
  undertaking.begin();
  return frames.run({ undertaking, around: unfinished(frames.getStore()) }, work);
}

/** Does `work` for nothing, whatever the work that calls this is done for. */
export function runOutside<T>(work: () => T): T {
  return frames.exit(work);
}

const NONE: readonly WorkContext[] = [];

/** What the work that calls this is done for, the innermost first. */
export function workContexts(): readonly WorkContext[] {
  let frame = frames.getStore();
  if (frame === undefined) return NONE;
  const around: WorkContext[] = [];
  for (; frame !== undefined; frame = frame.around) {
    if (!frame.undertaking.hasEnded) around.push(frame.undertaking);
  }
  return around;
}

/** Whether the work that calls this is done for `undertaking`, whatever else it is done for. */
export function isWithin(undertaking: WorkContext): boolean {
  return workContexts().includes(undertaking);
}

/** Without what is over: work that begins itself anew at its end would keep all that it ever was. */
function unfinished(frame: Frame | undefined): Frame | undefined {
  if (frame === undefined) return undefined;
  const around = unfinished(frame.around);
  if (frame.undertaking.hasEnded) return around;
  return around === frame.around ? frame : { undertaking: frame.undertaking, around };
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { ignore } from './promises.js';

/** What some work is done for, as a term or a lock's hold: until it ends. */
export class WorkContext {
  #state: 'idle' | 'working' | 'ended' = 'idle';

  /** Work that was begun in the context and goes on after its end doesn't belong to it any more. */
  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** @internal Called when work in it begins. */
  begin(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'working';
    working++;
  }

  finish(): void {
    const wasWorking = this.#state === 'working';
    this.#state = 'ended';
    if (wasWorking) oneLess();
  }
}

interface Frame {
  readonly context: WorkContext;
  readonly outer: Frame | undefined;
}

// One for all: Node before 24 asks each AsyncLocalStorage in use at every promise of the process, until it is disabled. An
// `await` in a loop takes 0.11 µs meanwhile instead of 0.04.
const frames = new AsyncLocalStorage<Frame>();
/** How many contexts are working, or expected to. Only the number: work that never ends would keep its context in memory. */
let working = 0;

function oneLess(): void {
  // With no context left, nothing has to be told apart: every context in a frame has ended.
  if (--working === 0) frames.disable();
}

const OVER = new WorkContext();
OVER.finish();

/**
 * Work may begin at any moment, and others will wait for its beginning and its end: contexts are told apart from now on, until what
 * this gives is called. To turn that on takes some 65 µs before Node 24 where it is done now and then, and to turn it off 12.
 */
export function expectWork(): () => void {
  working++;
  frames.run({ context: OVER, outer: undefined }, ignore);
  let isExpected = true;
  return () => {
    if (isExpected) oneLess();
    isExpected = false;
  };
}

/** Runs `work` in a context: all that it calls or begins belongs to the context too, until that ends. */
export function runWithin<T>(context: WorkContext, work: () => T): T {
  if (context.hasEnded) return work();
  context.begin();
  return frames.run({ context, outer: unfinished(frames.getStore()) }, work);
}

/** Runs `work` in no context, whatever context the caller is in. */
export function runOutside<T>(work: () => T): T {
  return frames.exit(work);
}

const NONE: readonly WorkContext[] = [];

/** The contexts that the caller is in, the innermost first. */
export function workContexts(): readonly WorkContext[] {
  let frame = frames.getStore();
  if (frame === undefined) return NONE;
  const contexts: WorkContext[] = [];
  for (; frame !== undefined; frame = frame.outer) {
    if (!frame.context.hasEnded) contexts.push(frame.context);
  }
  return contexts;
}

export function isWithin(context: WorkContext): boolean {
  return workContexts().includes(context);
}

/** Without contexts that have ended: work that begins itself anew at its end would keep all its former ones. */
function unfinished(frame: Frame | undefined): Frame | undefined {
  if (frame === undefined) return undefined;
  const outer = unfinished(frame.outer);
  if (frame.context.hasEnded) return outer;
  return outer === frame.outer ? frame : { context: frame.context, outer };
}

import type { LockHold } from '../../../src/lock/lock-hold.js';
import type { Lock } from '../../../src/lock/lock-interface.js';
import { ignore } from '../../../src/platform/async/promises.js';
import { deferred } from '../waiting.mjs';

/** A call of `acquire` that has a place in the queue, or holds the lock. */
export interface Enqueued {
  readonly hold: Promise<LockHold>;
  /** How many had to go first; 0 if it held at once. */
  readonly position: number;
  held(): boolean;
}

/** Acquires a lock. Resolves when the call holds it, or waits for it. */
export async function enqueue(lock: Lock): Promise<Enqueued> {
  let held = false;
  const waiting = deferred<number>();
  const hold = lock.acquire({ onWaiting: ({ position }) => waiting.resolve(position) });
  const position = await Promise.race([waiting.promise, hold.then(() => 0)]);
  const note = () => {
    held = true;
  };
  hold.then(note, ignore); // The test waits for the hold, and gets its failure.
  return { hold, position, held: () => held };
}

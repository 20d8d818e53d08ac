import type { Lock } from '../../src/lock/lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import { deferred, ignore } from '../../src/platform/async/promises.js';

/** Somebody who has asked for a lock. */
export interface Asker {
  readonly hold: Promise<LockHold>;
  /** How many had to go first; 0 if it held at once. */
  readonly position: number;
  held(): boolean;
}

/** Asks for a lock; resolves when it is held, or waited for. */
export async function ask(lock: Lock): Promise<Asker> {
  let held = false;
  const waiting = deferred<number>();
  const hold = lock.acquire({ onWaiting: ({ position }) => waiting.resolve(position) });
  const position = await Promise.race([waiting.promise, hold.then(() => 0)]);
  const note = () => {
    held = true;
  };
  hold.then(note, ignore); // Whoever waits for the hold sees what becomes of it.
  return { hold, position, held: () => held };
}

import { setTimeout as pause } from 'node:timers/promises';
import { heldTerm, type TermHandle } from '../../../src/lease/term-handle.js';
import { Acting, type Actor } from './acting.js';

/** After the first `false` it goes on to ask, because the answer must never be `true` again. */
const ASKS_AGAIN = 50;

/**
 * Acts for a term while its handle says that it is held.
 *
 * @param hasEnded - given to a careless thread: it goes by the main thread, not by the handle. That is wrong
 */
export async function actByHandle(
  actor: Actor,
  handle: TermHandle,
  everyMs: number,
  hasEnded?: () => boolean,
): Promise<void> {
  const { token } = handle;
  const held = hasEnded === undefined ? heldTerm(handle) : { token, isHeld: () => !hasEnded() };
  const acting = await Acting.begin(actor, held);
  while (await acting?.act()) await pause(everyMs);
  for (let left = ASKS_AGAIN; left > 0 && hasEnded === undefined; left--) {
    acting?.ask();
    await pause(everyMs);
  }
}

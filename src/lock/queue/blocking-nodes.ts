import { NoNodeError, ZooKeeperError } from '../../errors.js';
import type { Abortable } from '../../platform/async/lazy-abort.js';
import type { Session } from '../../session/session.js';

/**
 * How many of these nodes do stand in the way: those that are there, go with a session, and don't yield by what they say. It
 * takes a read for each.
 *
 * @throws what ended the session, or the signal's reason
 */
export async function countBlocking(
  session: Session,
  paths: readonly string[],
  signal: Abortable,
  yields?: (data: Buffer) => boolean,
): Promise<number> {
  const firm = paths.map(async (path) => {
    try {
      const { data, stat } = await session.retryUntilAnswered(() => session.getData(path), signal);
      return !session.guard.ownerless.isOne(path, stat) && yields?.(data) !== true;
    } catch (error) {
      if (error instanceof NoNodeError) return false;
      if (error instanceof ZooKeeperError) return true; // It can't be read, and is there.
      throw error;
    }
  });
  return (await Promise.all(firm)).filter(Boolean).length;
}

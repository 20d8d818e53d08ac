import { NoNodeError } from '../errors.js';
import { ignore } from '../platform/async/promises.js';
import { sleep } from '../platform/time/clock.js';
import type { Session } from '../session/session.js';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Deletes a node of this session, and retries until it is gone or the session is over. The session reports the first
 * refusal. Never rejects.
 */
export async function deleteForSure(session: Session, path: string): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await session.retryUntilAnswered(() => session.remove(path));
    } catch (error) {
      if (error instanceof NoNodeError || session.ended.aborted) return; // The node was gone, or has gone with the session.
      if (pauseMs === FIRST_PAUSE_MS)
        session.report(error as Error, "a node can't be deleted: still retrying");
      await sleep(session.clock, pauseMs, session.ended).catch(ignore); // The next try sees the session's end.
    }
  }
}

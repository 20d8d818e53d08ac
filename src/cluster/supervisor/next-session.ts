import { abortable } from '../../platform/async/promises.js';
import type { Session } from '../../session/session.js';

/**
 * The answer to what is only read, from the session that is open; where there is none, or it ends before it has answered, from
 * the next one.
 *
 * @throws why there will be none any more, what a server refuses, or the signal's reason
 */
export async function askAnySession<T>(
  source: { session(signal?: AbortSignal): Promise<Session> },
  signal: AbortSignal | undefined,
  question: (session: Session) => Promise<T>,
): Promise<T> {
  for (;;) {
    const session = await source.session(signal);
    try {
      return await abortable(question(session), signal);
    } catch (error) {
      if (!session.ended.aborted || signal?.aborted) throw error;
    }
  }
}

import { BadVersionError, NoNodeError } from '../../errors.js';
import { sleep } from '../../platform/time/clock.js';
import { isUnanswered } from '../../session/operations.js';
import type { Session } from '../../session/session.js';
import { type CandidateRequest, parseRequest, withRequest } from './candidate-request.js';

const RETRY_WITHIN_MS = 20;

/**
 * Writes a request on a candidate's node, beside the data that the candidate advertises. It never overwrites a change of that data.
 * @throws a `ZooKeeperError` if the server refuses, for lack of permission for example, or the error that ended the session
 */
export async function writeRequest(
  session: Session,
  path: string,
  request: CandidateRequest,
): Promise<'written' | 'gone'> {
  const wanted = JSON.stringify(request);
  for (let refusals = 0; ; ) {
    try {
      const { data, stat } = await session.retryUntilAnswered(() => session.getData(path));
      if (session.guard.ownerless.isOne(path, stat)) return 'gone'; // No client owns the node, so none would act on the request.
      if (JSON.stringify(parseRequest(data)) === wanted) return 'written'; // An earlier try may have written it, with its reply lost.
      const bytes = withRequest(data, request);
      if (bytes === undefined) return 'gone';
      await session.setData(path, bytes, stat.version);
      return 'written';
    } catch (error) {
      if (error instanceof NoNodeError) return 'gone';
      if (isUnanswered(error)) continue;
      if (!(error instanceof BadVersionError)) throw error;
      // The owner may write the node again and again, in step with these tries.
      if (refusals++ > 0) await sleep(session.clock, RETRY_WITHIN_MS * session.environment.random());
    }
  }
}

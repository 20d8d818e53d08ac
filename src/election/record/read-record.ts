import { InvalidStateError } from '../../errors.js';
import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import { parseSeats } from '../../queue/agreed-seats.js';
import type { Session } from '../../session/session.js';
import { answeredOver, seenAs } from '../../session/versioned-records.js';
import { parseRecord, type SeenRecord } from './election-record.js';

/**
 * The record of an election as it is now.
 * @throws InvalidStateError if a semaphore has its number of seats there. A candidate would overwrite that number
 * @throws NoNodeError if there is no such election, a server's refusal, the signal's reason, or the error that ended the session
 */
export async function readRecord(session: Session, path: string, signal: Abortable): Promise<SeenRecord> {
  const [node, connection] = await answeredOver(session, () => session.getData(path), signal);
  if (parseSeats(node.data) !== undefined)
    throw new InvalidStateError(
      `${path} is the path of a semaphore, as its data show: give the election another path`,
    );
  return seenAs(node, parseRecord, connection);
}

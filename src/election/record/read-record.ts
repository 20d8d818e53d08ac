import { InvalidStateError } from '../../errors.js';
import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import { parseSeats } from '../../queue/seat-count-node.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { parseRecord, type SeenRecord } from './record.js';

/**
 * The record of an election as it is now.
 * @throws InvalidStateError if a semaphore has its number of seats there. A candidate would overwrite that number
 * @throws NoNodeError if there is no such election, a server's refusal, the signal's reason, or the error that ended the session
 */
export async function readRecord(session: Session, path: string, signal: Abortable): Promise<SeenRecord> {
  let connection: number | undefined;
  const { data, stat } = await session.retryUntilAnswered(() => {
    connection = session.connectionNumber;
    return session.getData(path);
  }, signal);
  if (parseSeats(data) !== undefined)
    throw new InvalidStateError(
      `${path} is the path of a semaphore, as its data show: give the election another path`,
    );
  return seenRecord({ data, stat }, connection as number); // It was answered, so there was a connection.
}

/** A record as an answer over that connection has shown it. */
export function seenRecord({ data, stat }: NodeData, connection: number): SeenRecord {
  const { version, mzxid: zxid } = stat;
  return { value: parseRecord(data, version), version, zxid, connection };
}

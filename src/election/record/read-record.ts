import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import type { Session } from '../../session/session.js';
import { parseRecord, type SeenRecord } from './record.js';

/**
 * The record of an election as it is now.
 * @throws NoNodeError if there is no such election, a server's refusal, the signal's reason, or the error that ended the session
 */
export async function readRecord(session: Session, path: string, signal: Abortable): Promise<SeenRecord> {
  let connection: number | undefined;
  const { data, stat } = await session.retryUntilAnswered(() => {
    connection = session.connectionNumber;
    return session.getData(path);
  }, signal);
  return { value: parseRecord(data, stat.version), version: stat.version, zxid: stat.mzxid, connection };
}

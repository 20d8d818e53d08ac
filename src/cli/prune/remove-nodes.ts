import { BadVersionError, NoNodeError, ZooKeeperError } from '../../errors.js';
import { isUnanswered } from '../../session/operations.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';

/** The outcome of a removal. The reasons are for people. */
export type Removal =
  | { readonly kind: 'removed' }
  | { readonly kind: 'kept'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Deletes an election, or the path of a lock, in one transaction, unless it has changed since it was read.
 * @param parts - the deletions; the last one deletes the node above all others, or empties it
 * @throws the error that ended the session, or a server's refusal for another reason
 */
export async function remove(session: Session, parts: readonly TransactionPart[]): Promise<Removal> {
  const last = parts.at(-1) as TransactionPart;
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      await session.commit(parts);
      return { kind: 'removed' };
    } catch (error) {
      if (isUnanswered(error)) {
        await session.whenConnected();
        continue;
      }
      // The servers may have removed it, and the reply was lost.
      if (isRepeated && (await isDone(session, last))) return { kind: 'removed' };
      return outcomeOf(error);
    }
  }
}

function outcomeOf(error: unknown): Removal {
  if (error instanceof NoNodeError || error instanceof BadVersionError)
    return { kind: 'kept', reason: 'it has changed meanwhile' };
  if (error instanceof ZooKeeperError && error.code === 'NOT_EMPTY')
    return { kind: 'kept', reason: 'a process has joined meanwhile' };
  if (isNoAuth(error)) return { kind: 'refused', reason: 'the servers do not let this client delete it' };
  throw error;
}

async function isDone(session: Session, last: TransactionPart): Promise<boolean> {
  const stat = await session.retryUntilAnswered(() => session.exists(last.path));
  if (stat === undefined || last.kind !== 'set') return stat === undefined;
  return stat.dataLength === 0 && stat.version === (last.version ?? 0) + 1;
}

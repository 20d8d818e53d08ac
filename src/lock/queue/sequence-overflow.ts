import type { Session } from '../../session/session.js';
import { type EntryParser, isOverflowed, type QueueEntry, queueOf } from './order.js';
import { orUnreadable } from './unreadable-node.js';

/**
 * The contenders among `children`, first come first, also where the numbers don't tell: then by the transactions that
 * created them, which costs a read for each.
 *
 * For a contender whose own number isn't worn they do tell who is ahead: when its node was created the parent's counter hadn't
 * come to its end, so a worn number was given later, or made up. So nobody can make others read the whole queue by creating a
 * node with such a name.
 *
 * @param queue - the path that these are the children of
 * @param own - who wants to know who is ahead; without it the whole order counts
 * @throws UnreadableNodeError if one of those can't be read, what ended the session, or a `ZooKeeperError` if a server refuses
 */
export function inCreationOrder(
  session: Session,
  queue: string,
  children: readonly string[],
  parse: EntryParser,
  own?: QueueEntry,
): QueueEntry[] | Promise<QueueEntry[]> {
  const entries = queueOf(children, parse, own);
  const isInDoubt = own === undefined || isOverflowed(own);
  return isInDoubt && entries.some(isOverflowed) ? byBirth(session, queue, entries) : entries;
}

async function byBirth(
  session: Session,
  queue: string,
  entries: readonly QueueEntry[],
): Promise<QueueEntry[]> {
  const born = await Promise.all(
    entries.map(async (entry) => {
      const path = `${queue}/${entry.node}`;
      const stat = await session
        .retryUntilAnswered(() => session.exists(path))
        .catch((error: unknown) => {
          throw orUnreadable(error, session.absolute(path));
        });
      return stat === undefined ? [] : [{ entry, czxid: stat.czxid }];
    }),
  );
  return born
    .flat()
    .sort((a, b) => (a.czxid < b.czxid ? -1 : 1))
    .map(({ entry }) => entry);
}

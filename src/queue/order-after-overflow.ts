import type { Session } from '../session/session.js';
import { type EntryParser, isOverflowed, type QueueEntry, queueOf } from './names-and-order.js';
import { orUnreadable } from './ownerless-contenders.js';

/**
 * The contenders among `children` in the order of their creation, even if the numbers don't show it. Then the transactions that
 * created them show it, which takes a read for each.
 *
 * If a contender's own number isn't overflowed, the numbers show which nodes are ahead. The parent's counter hadn't run out when
 * its node was created, so an overflowed number was given later, or a client made it up. So no client can make others read the
 * whole queue by creating a node with such a name.
 *
 * @param queue - the children's parent
 * @param own - the contender that asks which nodes are ahead. Without it the whole order counts
 * @throws UnreadableNodeError if a node has to be read and the session may not read it, the error that ended the session, or a
 *   `ZooKeeperError` if a server refuses
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
  return isInDoubt && entries.some(isOverflowed) ? byCzxid(session, queue, entries) : entries;
}

async function byCzxid(
  session: Session,
  queue: string,
  entries: readonly QueueEntry[],
): Promise<QueueEntry[]> {
  const created = await Promise.all(
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
  return created
    .flat()
    .sort((a, b) => (a.czxid < b.czxid ? -1 : 1))
    .map(({ entry }) => entry);
}

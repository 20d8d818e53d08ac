import type { Session } from '../../session/session.js';
import { type EntryParser, isOverflowed, type QueueEntry, queueOf } from './order.js';
import { orUnreadable } from './unreadable-node.js';

/**
 * The contenders among `children` in the order of their creation, also where the numbers don't tell it. Then the
 * transactions that created them do, which takes a read for each.
 *
 * A contender whose own number isn't overflowed can tell by the numbers which nodes are ahead: when its node was created, the
 * parent's counter hadn't run out, so an overflowed number was given later, or made up by a client. So no client can make
 * others read the whole queue by creating a node with such a name.
 *
 * @param queue - the children's parent
 * @param own - the contender that asks which nodes are ahead; without it the whole order counts
 * @throws UnreadableNodeError if a node has to be read and can't be, what ended the session, or a `ZooKeeperError` if a server refuses
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

import { NoNodeError, ZooKeeperError } from '../errors.js';
import type { Contender } from './contender.js';
import type { QueueEntry } from './names-and-order.js';
import { isOwnerless } from './ownerless-nodes.js';
import { EXCLUSIVE, mayLeaveReader, type TurnRule, toWatch } from './turn-rule.js';

/** Whether it is the contender's turn now. @throws NodeLostError if the contender's node is gone, or the error that ended the session */
export async function hasTurn(contender: Contender, rule: TurnRule = EXCLUSIVE): Promise<boolean> {
  const { capacity } = rule;
  for (;;) {
    const blocking = await contender.listBlocking(rule, contender.node.lost);
    if (blocking.length <= capacity) return true;
    // A read of the nearest nodes is mostly enough for a negative answer. There may be very many others.
    const nearest = await countBlocking(contender, toWatch(blocking, rule), rule);
    if (nearest > capacity) return false;
    const others = await countBlocking(contender, blocking.slice(0, -capacity - 1), rule);
    if (nearest + others > capacity) return false;
    if (!mayLeaveReader(blocking, rule)) return true;
  }
}

/** How many of these nodes still exist, aren't ownerless, and block by their data. It takes one read for each. */
async function countBlocking(
  { session, queue, node: { lost } }: Contender,
  entries: readonly QueueEntry[],
  { noLongerBlocks }: TurnRule,
): Promise<number> {
  const blocking = entries.map(async ({ node }) => {
    const path = `${queue}/${node}`;
    try {
      const { data, stat } = await session.retryUntilAnswered(() => session.getData(path), lost);
      return !isOwnerless(session, queue, node, stat) && noLongerBlocks?.(data) !== true;
    } catch (error) {
      if (error instanceof NoNodeError) return false;
      if (error instanceof ZooKeeperError) return true; // The node exists, and the session may not read it.
      throw error;
    }
  });
  return (await Promise.all(blocking)).filter(Boolean).length;
}

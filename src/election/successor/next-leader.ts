import type { Contender } from '../../lock/queue/contender.js';
import { settledWithin } from '../../platform/async/promises.js';
import type { Successor } from './successor.js';
import type { SuccessorSearch } from './successor-search.js';

/**
 * The candidate to which `leader` gives its term back: by default the one with the highest priority, or the first in
 * the queue. The queue is listed when the term is over. So a candidate that joins after that counts at the next change.
 * `undefined` if there is none, or if the search fails: then the queue decides. Never rejects, and resolves after half
 * a lease at most.
 */
export function nextLeader(search: SuccessorSearch, leader: Contender): Promise<Successor | undefined> {
  return found(leader, () => search.next(leader.entry));
}

/**
 * As {@link nextLeader}, after the servers have refused to let that candidate lead: it has left, or its node has
 * changed. A candidate that stands behind others is looked for once more, since it was chosen.
 */
export function nextLeaderInsteadOf(
  refused: Successor,
  search: SuccessorSearch,
  leader: Contender,
): Promise<Successor | undefined> {
  return found(leader, async () => {
    const again = refused.isFirst ? undefined : await search.again(refused.node);
    return again ?? (await search.next(leader.entry));
  });
}

async function found(
  { session, node }: Contender,
  search: () => Promise<Successor | undefined>,
): Promise<Successor | undefined> {
  if (session.state.name !== 'connected' || node.isGone) return undefined;
  let successor: Successor | undefined;
  const searching = async () => {
    successor = await search();
  };
  await settledWithin(session.clock, searching(), session.leaseMs / 2);
  return successor;
}

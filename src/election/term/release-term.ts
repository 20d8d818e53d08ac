import { BadVersionError, NodeLostError, NoNodeError } from '../../errors.js';
import { RecordLostError } from '../../lease/node-with-heartbeat.js';
import type { Contender } from '../../queue/contender.js';
import { answeredOver, isOutdated, release } from '../../session/versioned-records.js';
import type { NextLeaderWatch } from '../candidates/next-leader-watch.js';
import type { Successor } from '../candidates/successor.js';
import { parseRecord } from '../record/election-record.js';
import { leaveParts, releaseOf } from './claim-and-release-writes.js';
import type { Claim } from './term.js';

/** A term that was given back. */
export interface GivenTerm {
  /** The candidate that leads next; `undefined` if there was none. */
  readonly successor: Successor | undefined;
}

/** The candidate that held a term: in its own process, or in a dead one whose session the guardian has taken. */
export type TermHolder = Pick<Contender, 'session' | 'queue' | 'entry' | 'node'>;

/**
 * Releases the term of a holder that is leaving. One write makes the record say that the successor leads the next term, or that
 * no candidate leads, and deletes the holder's nodes. If that isn't possible, because the node or the session is gone or
 * another client wrote the record, the next candidate waits out this leader's lease. Goes on until the servers have answered.
 * @param next - finds another successor if the servers refuse the first
 * @throws NodeLostError if the node is gone or the record was written since, the servers' refusal, or the error that ended the session
 */
export async function releaseTerm(
  { session, node, entry }: TermHolder,
  { record: path, term, version, connection }: Pick<Claim, 'term' | 'record' | 'version' | 'connection'>,
  next: Pick<NextLeaderWatch, 'find'>,
  first: Successor | undefined,
): Promise<GivenTerm> {
  const giveUpAt = session.clock.now() + session.leaseMs; // If a successor changes its node again and again, the queue decides in the end.
  const by = {
    // The node alone would not do: it may have been handed a later term.
    isOwn: (data: Buffer, at: number) => {
      const record = parseRecord(data, at);
      return record.state === 'held' && record.node === entry.node && record.term === term;
    },
    commit: session.commit.bind(session),
    barrier: () => session.retryUntilAnswered(() => node.commit([])),
  };
  let successor = first;
  for (;;) {
    const releasing = releaseOf({ path, version, connection }, term, successor, node.deletions);
    const outcome = (await release(session, [releasing], by)).get(path);
    if (outcome?.kind === 'written') return { successor };
    const error = outcome?.error;
    if (node.raised?.deletionRefused(error)) continue;
    if (error instanceof NoNodeError && error.path === node.absolutePath)
      throw new NodeLostError(`${node.path} is gone, and the term with it`, { cause: error });
    if (error === undefined) throw new RecordLostError(session.absolute(path));
    if (error.path === session.absolute(path) || successor === undefined) throw error;
    // The successor has left or changed its node. After any other refusal the queue decides.
    const finds = isOutdated(error) && session.clock.now() < giveUpAt;
    successor = finds ? await next.find(successor) : undefined;
  }
}

/**
 * Leaves the queue of an election, unless the contender is leaving with a term already. At this very moment a leader
 * may hand its term over, or the servers may carry out a late claim of this contender. Both change the version of the
 * record, on which the deletion depends. Then the contender gives the term back, as any leader does. So no candidate
 * has to wait out the lease of a candidate that never led. Never rejects.
 */
export function leaveQueue(contender: Contender, next: NextLeaderWatch): Promise<void> {
  return contender.leave(() => leave(contender, next));
}

async function leave(contender: Contender, next: NextLeaderWatch): Promise<void> {
  const { session, node, entry, queue: path } = contender;
  for (;;) {
    const [{ data, stat }, connection] = await answeredOver(session, () => session.getData(path));
    const { version } = stat;
    const record = parseRecord(data, version);
    if (record.state === 'held' && record.node === entry.node) {
      const claim = { term: record.term, record: path, version, connection };
      return void (await releaseTerm(contender, claim, next, await next.find()));
    }
    try {
      const leaving = () => session.commit(leaveParts({ path, version }, node.deletions));
      return void (await session.retryUntilAnswered(leaving));
    } catch (error) {
      if (!(error instanceof BadVersionError || node.raised?.deletionRefused(error))) throw error;
    }
  }
}

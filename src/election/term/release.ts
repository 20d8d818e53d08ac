import { BadVersionError, NodeLostError, NoNodeError, ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../queue/contender.js';
import { isUnanswered } from '../../session/operations.js';
import type { TransactionPart } from '../../session/protocol/records.js';
import type { NextLeader } from '../candidates/next-leader-watch.js';
import type { Successor } from '../candidates/successor.js';
import { parseRecord } from '../record/record.js';
import type { Claim } from './term.js';
import { leaveParts, releaseParts } from './transactions.js';

/** A term that was given back. */
export interface GivenTerm {
  /** The candidate that leads next; `undefined` if there was none. */
  readonly successor: Successor | undefined;
}

/** The part of a claim that a release needs. */
type Releasable = Pick<Claim, 'term' | 'record' | 'version' | 'connection'>;

/**
 * Releases a leader's term, for a contender that is leaving. One write makes the record say that the successor leads the next term, or that
 * no candidate leads, and deletes the leader's nodes. If that isn't possible, because the node or the session is gone or
 * another client wrote the record, the next candidate waits out this leader's lease. Goes on until the servers have answered.
 * @param next - finds another successor if the servers refuse the first
 * @throws the servers' refusal, or the error that ended the session
 */
export async function releaseTerm(
  contender: Contender,
  claim: Releasable,
  next: NextLeader,
  first: Successor | undefined,
): Promise<GivenTerm> {
  const { session, node, queue } = contender;
  const giveUpAt = session.clock.now() + session.leaseMs; // If a successor changes its node again and again, the queue decides in the end.
  const recordPath = session.absolute(claim.record);
  let successor = first;
  for (;;) {
    try {
      const parts = releaseParts(queue, { ...claim, path: claim.record }, successor, node.deletions);
      await sendRelease(contender, claim, parts);
      return { successor };
    } catch (error) {
      if (node.raised?.deletionRefused(error)) continue;
      if (!(error instanceof ZooKeeperError) || successor === undefined) throw error;
      // The successor has left or changed its node. After any other refusal the queue decides.
      const isOutdated =
        (error instanceof NoNodeError || error instanceof BadVersionError) && error.path !== recordPath;
      const finds = isOutdated && session.clock.now() < giveUpAt;
      successor = finds ? await next.find(successor) : undefined;
    }
  }
}

/**
 * Repeats a release until it is answered. In a restored backup the leader's node may be there again, and the record
 * may have the claim's version by the claim of another candidate. All servers stop for a restore, so no restore comes
 * between a reply and the next request on one connection. Over another connection than the claim's, or after a lost
 * reply, the record is read first: this very node must hold it, at the claim's version. The node alone would not do: it may
 * have been handed a later term. If a server is behind the state that a watch has shown to this session, a write brings it
 * up to date.
 * @throws an error if another holds the record, the servers' refusal, or the error that ended the session; then nothing is written
 */
async function sendRelease(
  { session, node, entry }: Contender,
  { record, version, connection }: Releasable,
  parts: readonly TransactionPart[],
): Promise<void> {
  let shownOn: number | undefined = connection; // The connection over which a read has shown that the record is as the claim left it.
  let provenOn: number | undefined; // The connection over which a write has proved the leader's node.
  for (;;) {
    try {
      const now = session.connectionNumber;
      if (now === undefined) {
        await session.whenConnected();
      } else if (now !== shownOn) {
        const { data, stat } = await session.getData(record);
        const found = parseRecord(data, stat.version);
        const isAsLeft = found.state === 'held' && found.node === entry.node && stat.version === version;
        if (!isAsLeft && provenOn === now) throw new Error(`${record} is not as the claim left it`);
        if (isAsLeft) shownOn = now;
        else await session.commit([{ kind: 'check', path: node.path }]);
        provenOn = now;
      } else {
        return void (await session.commit(parts));
      }
    } catch (error) {
      if (error instanceof NoNodeError && error.path === node.absolutePath)
        throw new NodeLostError(`${node.path} is gone, and the term with it`, { cause: error });
      if (!isUnanswered(error)) throw error;
      shownOn = undefined;
    }
  }
}

/**
 * Leaves the queue of an election, unless the contender is leaving with a term already. At this very moment a leader
 * may hand its term over, or the servers may carry out a late claim of this contender. Both change the version of the
 * record, on which the deletion depends. Then the contender gives the term back, as any leader does. So no candidate
 * has to wait out the lease of a candidate that never led. Never rejects.
 */
export function leaveQueue(contender: Contender, next: NextLeader): Promise<void> {
  return contender.leave(() => leave(contender, next));
}

async function leave(contender: Contender, next: NextLeader): Promise<void> {
  const { session, node, entry, queue: path } = contender;
  for (;;) {
    const { connectionNumber: connection } = session;
    const { data, stat } = await session.retryUntilAnswered(() => session.getData(path));
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

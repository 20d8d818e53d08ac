import { BadVersionError, NodeLostError, NoNodeError, ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { isUnanswered } from '../../session/operations.js';
import type { TransactionPart } from '../../session/protocol/records.js';
import { parseRecord, serializeRecord } from '../nodes/record.js';
import type { NextLeader, Succession } from '../successor/succession.js';
import { handoverParts, signalParts } from '../successor/successor.js';
import type { Claim, ReleasableClaim } from './claim.js';

/**
 * The writes of a clean release: the record says that the successor leads the next term, or that none does, and the node is gone, all or
 * nothing. Nothing if the record was written since the claim, or the node is gone; so they can be carried out twice.
 * @param queue - the election's path
 */
export function releaseParts(
  queue: string,
  claim: ReleasableClaim,
  { successor, ifAt }: NextLeader,
): TransactionPart[] {
  const { record, version, term, node } = claim;
  // Comes before the record: a leader whose node is gone is told so, whatever has become of that.
  const deletion = { kind: 'delete', path: node, ...(ifAt !== undefined && { version: ifAt }) } as const;
  if (successor !== undefined)
    return [
      ...signalParts(queue, successor, version),
      deletion,
      ...handoverParts(queue, successor, { record, version, term: term + 1 }),
    ];
  return [deletion, { kind: 'set', path: record, data: serializeRecord({ state: 'vacant', term }), version }];
}

/**
 * Gives a term back cleanly: the record says that the successor leads the next term, or that none does, and the leader's
 * nodes are gone, in one write. If that isn't possible, because the node or the session is gone or another client wrote the record, the
 * next candidate waits out this leader's lease. Goes on until the servers have answered or the session has ended. Never rejects.
 * @param next - who leads next; `succession` finds out anew if the servers refuse that
 */
export function releaseTerm(
  contender: Contender,
  claim: Claim,
  next: NextLeader = {},
  succession?: Succession,
): Promise<void> {
  return contender.leave(() => release(contender, claim, next, succession));
}

/** As {@link releaseTerm}, for a contender that is leaving already. @throws what refuses it, or what ended the session */
export async function release(
  contender: Contender,
  claim: Claim,
  first: NextLeader,
  succession: Succession | undefined,
): Promise<void> {
  const { clock, leaseMs } = contender.session;
  const giveUpAt = clock.now() + leaseMs; // A successor may change its node again and again: then the queue decides.
  const recordPath = contender.session.absolute(claim.record);
  let next = first;
  for (;;) {
    try {
      return await writeRelease(contender, claim, partsOf(contender, claim, next));
    } catch (error) {
      if (contender.node.raised?.deletionRefused(error)) continue;
      if (!(error instanceof ZooKeeperError) || isVacancy(next)) throw error;
      // It left, or changed its node, or a candidate with a priority has come. After anything else the queue decides.
      const isOutdated =
        (error instanceof NoNodeError || error instanceof BadVersionError) && error.path !== recordPath;
      next = isOutdated && clock.now() < giveUpAt && succession ? await succession.nextInstead() : {};
    }
  }
}

/** Whether the release depends on no other candidate. */
function isVacancy({ successor, ifAt }: NextLeader): boolean {
  return successor === undefined && ifAt === undefined;
}

function partsOf({ queue, node }: Contender, claim: Claim, next: NextLeader): TransactionPart[] {
  return [...releaseParts(queue, claim, next), ...node.heartbeatDeletion];
}

/**
 * Repeats a release until it is answered. In a restored backup the leader's node may be there again, with the record at the
 * claim's version by the claim of another candidate. All servers stop for a restore, so none comes between a reply and the
 * next request on one connection. Over another connection than the claim's, or after a lost reply, the record is read first:
 * it must be held by this very node, at the claim's version. A node holds it once. A server that is behind what this session has been
 * told by a watch is brought up to date by a write.
 * @throws an error if it isn't, the servers' refusal, or what ended the session: nothing is written then
 */
export async function writeRelease(
  { session, node, entry }: Contender,
  { record, version, connection }: Claim,
  parts: readonly TransactionPart[],
): Promise<void> {
  let shownOn: number | undefined = connection; // The connection on which the record was seen to be the claim's.
  let provenOn: number | undefined; // The one on which a write has proved the leader's node.
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

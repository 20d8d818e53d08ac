import { BadVersionError, NodeLostError, NoNodeError, ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { isUnanswered } from '../../session/operations.js';
import type { TransactionPart } from '../../session/protocol/records.js';
import type { PreparedTransaction } from '../../session/protocol/requests.js';
import { parseRecord, serializeRecord } from '../nodes/record.js';
import type { NextLeader, Succession } from '../successor/succession.js';
import { handoverParts } from '../successor/successor.js';
import type { Claim, ReleasableClaim } from './claim.js';

/**
 * The writes of a clean release. They make the record say that the successor leads the next term, or that no candidate
 * leads, and they delete the node, all or nothing. The servers refuse them if the record was written since the claim,
 * or if the node is gone. So it does no harm to send them twice.
 * @param queue - the election's path
 */
export function releaseParts(
  queue: string,
  claim: ReleasableClaim,
  { successor, ifAt }: NextLeader,
): TransactionPart[] {
  const { record, version, term, node } = claim;
  // The deletion comes before the write of the record. So if the node is gone, the error says that, whatever the state
  // of the record.
  const deletion = { kind: 'delete', path: node, ...(ifAt !== undefined && { version: ifAt }) } as const;
  if (successor !== undefined)
    return [deletion, ...handoverParts(queue, successor, { record, version, term: term + 1 })];
  return [deletion, { kind: 'set', path: record, data: serializeRecord({ state: 'vacant', term }), version }];
}

/** A release that is ready to be sent, and the facts for which it was made. */
interface ReadyRelease extends NextLeader {
  readonly deletesHeartbeatNode: boolean;
  readonly transaction: PreparedTransaction;
}

/**
 * The release of a leader's term. One write makes the record say that the successor leads the next term, or that no
 * candidate leads, and deletes the leader's nodes. If that isn't possible, because the node or the session is gone or
 * another client wrote the record, the next candidate waits out this leader's lease.
 */
export class Release {
  readonly #contender: Contender;
  readonly #claim: Claim;
  readonly #succession: Succession | undefined;
  #ready: ReadyRelease | undefined;
  #given: NextLeader | undefined;

  /** @param succession - finds the next leader again if the servers refuse the release */
  constructor(contender: Contender, claim: Claim, succession?: Succession) {
    this.#contender = contender;
    this.#claim = claim;
    this.#succession = succession;
  }

  /** The candidate to which the term was given, once the servers have answered the release. */
  get given(): NextLeader | undefined {
    return this.#given;
  }

  /**
   * Prepares the release for the case that nothing changes: the next leader waits for its bytes, and code that seldom
   * runs is slow.
   */
  prepare(next: NextLeader): void {
    this.#ready = undefined;
    if (next.successor === undefined) return; // No candidate waits.
    const { session, node } = this.#contender;
    const deletesHeartbeatNode = node.heartbeatDeletion.length > 0;
    this.#ready = { ...next, deletesHeartbeatNode, transaction: session.prepare(this.#partsFor(next)) };
  }

  /**
   * Gives the term back and leaves the queue. Goes on until the servers have answered or the session has ended. Never
   * rejects.
   */
  give(next: NextLeader = {}): Promise<void> {
    return this.#contender.leave(() => this.write(next));
  }

  /**
   * As {@link give}, for a contender that is leaving already. @throws the servers' refusal, or the error that ended the
   * session
   */
  async write(first: NextLeader): Promise<void> {
    const { session, node } = this.#contender;
    const giveUpAt = session.clock.now() + session.leaseMs; // If a successor changes its node again and again, the queue decides in the end.
    const recordPath = session.absolute(this.#claim.record);
    let next = first;
    for (;;) {
      try {
        await this.#send(this.#transactionFor(next));
        this.#given = next;
        return;
      } catch (error) {
        if (node.raised?.deletionRefused(error)) continue;
        if (!(error instanceof ZooKeeperError) || isVacancy(next)) throw error;
        // The successor has left or changed its node, or a candidate with a priority has come. After any other refusal
        // the queue decides.
        const isOutdated =
          (error instanceof NoNodeError || error instanceof BadVersionError) && error.path !== recordPath;
        const finds = isOutdated && session.clock.now() < giveUpAt;
        next = finds && this.#succession ? await this.#succession.nextInstead() : {};
      }
    }
  }

  #partsFor(next: NextLeader): TransactionPart[] {
    const { queue, node } = this.#contender;
    return [...releaseParts(queue, this.#claim, next), ...node.heartbeatDeletion];
  }

  #transactionFor(next: NextLeader): PreparedTransaction {
    const { session, node } = this.#contender;
    const ready = this.#ready;
    const isAsMade =
      ready?.successor === next.successor &&
      ready?.ifAt === next.ifAt &&
      ready?.deletesHeartbeatNode === node.heartbeatDeletion.length > 0;
    return ready !== undefined && isAsMade ? ready.transaction : session.prepare(this.#partsFor(next));
  }

  /**
   * Repeats a release until it is answered. In a restored backup the leader's node may be there again, and the record
   * may have the claim's version by the claim of another candidate. All servers stop for a restore, so no restore comes
   * between a reply and the next request on one connection. Over another connection than the claim's, or after a lost
   * reply, the record is read first: this very node must hold it, at the claim's version. A node holds the record only
   * once. If a server is behind the state that a watch has shown to this session, a write brings it up to date.
   * @throws an error if another holds the record, the servers' refusal, or the error that ended the session; then
   *   nothing is written
   */
  async #send(transaction: PreparedTransaction): Promise<void> {
    const { session, node, entry } = this.#contender;
    const { record, version, connection } = this.#claim;
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
          return void (await session.commitPrepared(transaction));
        }
      } catch (error) {
        if (error instanceof NoNodeError && error.path === node.absolutePath)
          throw new NodeLostError(`${node.path} is gone, and the term with it`, { cause: error });
        if (!isUnanswered(error)) throw error;
        shownOn = undefined;
      }
    }
  }
}

/** Whether the release depends on no other candidate. */
function isVacancy({ successor, ifAt }: NextLeader): boolean {
  return successor === undefined && ifAt === undefined;
}

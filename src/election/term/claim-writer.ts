import { BadVersionError, NoNodeError, ZooKeeperError } from '../../errors.js';
import { isHeartbeatNodeRefused } from '../../lease/heartbeat-version.js';
import type { Contender } from '../../lock/queue/contender.js';
import type { Abortable } from '../../platform/async/lazy-abort.js';
import { abortableLate, ignore } from '../../platform/async/promises.js';
import type { Reply } from '../../session/connection/reply.js';
import { isUnanswered } from '../../session/operations.js';
import type { PartResult, Stat, TransactionPart } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { serializeRecord, type Vacancy } from '../nodes/record.js';
import type { Claim, TermOrigin } from './claim.js';

/** Sends the claims of one candidate on one record: each is a single transaction, sent over the connection that has shown the record. */
export class ClaimWriter {
  readonly #session: Session;
  readonly #recordPath: string;
  readonly #id: string;
  readonly #seat: number;

  constructor(session: Session, recordPath: string, id: string, seat: number) {
    this.#session = session;
    this.#recordPath = recordPath;
    this.#id = id;
    this.#seat = seat;
  }

  /**
   * @param vacancy - its connection is the one over which it may be claimed: over another one, the record may be of a restored
   *   backup, and at that version by the claim of another candidate
   * @param deletions - what goes with the claim
   * @returns `undefined`: nothing was claimed, or the outcome isn't known: read the record again
   * @throws NodeLostError, a server's refusal, what ended the session, or the signal's reason, a lease after the abort
   */
  async claim(
    contender: Contender,
    vacancy: Vacancy,
    signal: Abortable,
    onSent: () => void = ignore,
    deletions: readonly TransactionPart[] = [],
  ): Promise<Claim | undefined> {
    // Sent only while connected, and not held back until then: a claim that was given up must not go out later.
    await this.#session.whenConnected(signal);
    if (!this.#isShown(vacancy)) return undefined;
    try {
      const claiming = contender.node.claim([...deletions, this.#write(contender, vacancy)]);
      onSent();
      return this.#begun(contender, vacancy, await this.#answered(claiming, signal));
    } catch (error) {
      if (error instanceof BadVersionError || isHeartbeatNodeRefused(error)) return undefined;
      if (!isUnanswered(error) && !(error instanceof NoNodeError)) throw error;
      // Commits a check of this contender's node: after it, the record shows whether the claim was carried out. It rejects if
      // the node is gone, and begins a lease otherwise. A contender that gives up here leaves as after an unclean end.
      await contender.node.renew(signal);
      return undefined;
    }
  }

  /**
   * Creates the contender's node with `data`, and claims, in one transaction.
   * @param onOthers - called if another node has come into the queue since that was seen to be empty
   * @returns `undefined`: nothing was written
   * @throws what ended the session, or the signal's reason, a lease after the abort: then the outcome isn't known
   */
  async joinAndClaim(
    contender: Contender,
    data: Buffer,
    vacancy: Vacancy,
    signal: Abortable,
    onOthers: () => void,
  ): Promise<Claim | 'unanswered' | undefined> {
    if (!this.#isShown(vacancy)) return undefined;
    const { node } = contender;
    node.decideHeartbeats(); // The record says which way they go.
    try {
      const claiming = node.createWithClaim(data, [this.#write(contender, vacancy)]);
      const stat = await this.#answered(claiming, signal);
      node.keepAlive();
      // As the record was when it was written, behind the creation of the contender's own node.
      if (stat.numChildren > 1) onOthers();
      return this.#begun(contender, vacancy, stat);
    } catch (error) {
      // Another candidate has claimed; or the election is gone, or the servers let no node be created: joining shows that.
      if (error instanceof ZooKeeperError && error.operation?.startsWith('multi[')) return undefined;
      if (isUnanswered(error) || error instanceof ZooKeeperError) return 'unanswered';
      throw error;
    }
  }

  /** A term is begun by the transaction that wrote the record last: `zxid`, which left it at `version`. */
  claimed(
    contender: Contender,
    term: number,
    zxid: bigint,
    version: number,
    connection: number | undefined,
    origin: TermOrigin,
  ): Claim {
    const { node } = contender;
    const record = this.#recordPath;
    return { term, seat: this.#seat, token: zxid, record, version, node: node.path, connection, origin };
  }

  #isShown({ connection }: Vacancy): boolean {
    return connection !== undefined && this.#session.connectionNumber === connection;
  }

  #write({ node, entry }: Contender, { term, version }: Vacancy): TransactionPart {
    const { leaseMs } = this.#session;
    const data = serializeRecord({
      ...{ state: 'held', term, id: this.#id, node: entry.node, leaseMs },
      ...(node.raised !== undefined && { takeover: 'lease' as const }),
    });
    return { kind: 'set', path: this.#recordPath, data, version };
  }

  #begun(contender: Contender, { term, connection, leaderLostAt }: Vacancy, { mzxid, version }: Stat): Claim {
    const origin: TermOrigin =
      leaderLostAt === undefined ? { kind: 'vacant' } : { kind: 'failover', sinceMs: leaderLostAt };
    return this.claimed(contender, term, mzxid, version, connection, origin);
  }

  /** The record's stat, as the claim left it. */
  async #answered(claiming: Promise<Reply<PartResult[]>>, signal: Abortable): Promise<Stat> {
    const { clock, leaseMs } = this.#session;
    // The candidate that is stopped waits no longer: it may take much longer than a lease to find a dead link.
    const { value } = await abortableLate(clock, claiming, leaseMs, signal);
    return value.at(-1)?.stat as Stat; // The claim's last part sets the record.
  }
}

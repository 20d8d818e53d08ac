import { BadVersionError, NoNodeError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import type { Abortable } from '../../platform/async/lazy-abort.js';
import { abortableLate } from '../../platform/async/promises.js';
import type { Reply } from '../../session/connection/reply.js';
import { isUnanswered } from '../../session/operations.js';
import type { PartResult, Stat, TransactionPart } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { leaseOf } from '../nodes/candidate-uuid.js';
import { serializeRecord, type Vacancy } from '../nodes/record.js';
import type { Claim, TermOrigin } from './claim.js';

/**
 * Sends the claims of one candidate on one record. Each is a single transaction, over the connection that has shown the
 * record.
 */
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
   * @param vacancy - it may be claimed only over its own connection. Over another one, the record may come from a
   *   restored backup, and have that version by another candidate's claim
   * @param deletions - further parts of the claim's transaction
   * @returns `undefined` if nothing was claimed, or if the outcome isn't known; then read the record again
   * @throws NodeLostError, a server's refusal, the error that ended the session, or the signal's reason, a lease after
   *   the abort
   */
  async claim(
    contender: Contender,
    vacancy: Vacancy,
    signal: Abortable,
    deletions: readonly TransactionPart[] = [],
  ): Promise<Claim | undefined> {
    // The claim is sent only while connected. It isn't held until there is a connection, because a claim that was given
    // up must not go out later.
    await this.#session.whenConnected(signal);
    if (!this.#isShown(vacancy)) return undefined;
    try {
      const claiming = contender.node.prove([...deletions, this.#write(contender, vacancy)]);
      return this.#begun(contender, vacancy, await this.#answered(claiming, signal));
    } catch (error) {
      if (error instanceof BadVersionError) return undefined;
      if (!isUnanswered(error) && !(error instanceof NoNodeError)) throw error;
      // Commits a check of this contender's node. After that, the record shows whether the servers carried the claim
      // out. The check rejects if the node is gone, and otherwise begins a lease. A contender that gives up here leaves
      // as after an unclean end.
      await contender.node.renew(signal);
      return undefined;
    }
  }

  /**
   * The claim of a term that the transaction `zxid` has begun: it was the last to write the record, and left it at
   * `version`.
   */
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

  #write({ entry }: Contender, { term, version }: Vacancy): TransactionPart {
    const { leaseMs } = this.#session;
    const data = serializeRecord({
      ...{ state: 'held', term, id: this.#id, node: entry.node, leaseMs },
      ...(leaseOf(entry)?.takeover === 'lease' && { takeover: 'lease' as const }),
    });
    return { kind: 'set', path: this.#recordPath, data, version };
  }

  #begun(contender: Contender, { term, connection, leaderLostAt }: Vacancy, { mzxid, version }: Stat): Claim {
    const origin: TermOrigin =
      leaderLostAt === undefined ? { kind: 'vacant' } : { kind: 'failover', sinceMs: leaderLostAt };
    return this.claimed(contender, term, mzxid, version, connection, origin);
  }

  /** The stat that the claim gave the record. */
  async #answered(claiming: Promise<Reply<PartResult[]>>, signal: Abortable): Promise<Stat> {
    const { clock, leaseMs } = this.#session;
    // A candidate that is stopped waits no longer than this: finding a dead link may take much longer than a lease.
    const { value } = await abortableLate(clock, claiming, leaseMs, signal);
    return value.at(-1)?.stat as Stat; // The claim's last part sets the record.
  }
}

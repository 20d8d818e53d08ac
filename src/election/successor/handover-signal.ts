import { describe, NodeLostError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { ignore, microtask } from '../../platform/async/promises.js';
import { nextTick } from '../../platform/time/timers.js';
import { parseRecord } from '../nodes/record.js';
import { signalNodeOf } from '../nodes/signal-node.js';
import type { HeldRecord } from '../takeover/lease-observation.js';
import type { Claim } from '../term/claim.js';

/**
 * Waits for the signal by which a leader that releases its term tells the next in line that it leads now. Only this
 * candidate gets the notification, and it says the same as the record. A candidate with a lease and a token leads at
 * once. If it misses the signal, or has no lease or token, it only loses time: it sees the end of the leader's node,
 * and reads the record. See docs/design/handover.md.
 */
export class HandoverSignal {
  readonly #contender: Contender;
  readonly #recordPath: string;
  readonly #onTakenUp: (claim: Claim) => void;
  #leader: HeldRecord | undefined;
  #unwatch: () => void = ignore;

  /** @param onTakenUp - called when the contender leads that term. The record is read in the next tick */
  constructor(contender: Contender, recordPath: string, onTakenUp: (claim: Claim) => void) {
    this.#contender = contender;
    this.#recordPath = recordPath;
    this.#onTakenUp = onTakenUp;
  }

  /**
   * From now on only that leader's signal counts. A lost connection ends the watch; it begins anew on the next
   * connection.
   */
  follow(leader: HeldRecord | undefined): void {
    const before = this.#leader;
    this.#leader = leader;
    if (before?.version === leader?.version && before?.connection === leader?.connection) return;
    this.#unwatch();
    this.#unwatch = ignore;
    if (leader === undefined) return;
    const { session, queue, entry } = this.#contender;
    if (!session.guard.trustsCreations(queue)) return; // Any client could create the signal.
    const path = `${queue}/${signalNodeOf(entry.node, leader.version + 1)}`;
    this.#unwatch = session.watchCreation(path, () => this.#signalled());
  }

  /** Called on the connection's stack, so everything that is known now came before the signal. */
  #signalled(): void {
    const leader = this.#leader;
    const claim = leader && this.#claimOf(leader);
    if (claim === undefined) return;
    // Not on the connection's stack, but before the contender notices the end of the leader's node.
    microtask(() => {
      if (this.#leader !== leader) return;
      // The application hears of its term before the check.
      nextTick(() => void this.#confirm(claim)); // Never rejects.
      this.#onTakenUp(claim);
    });
  }

  /**
   * The term that this leader has just handed over. The record names the contender, at the next version. The token is
   * the zxid of the newest heartbeat that was answered before the signal. The servers carried that heartbeat out before
   * the release. If its zxid is greater than that of the write that began the former term, they carried it out after
   * that write.
   * @returns `undefined` if there is no such lease or token; then the record has to be read
   */
  #claimOf({ record, version, zxid }: HeldRecord): Claim | undefined {
    const { node, session } = this.#contender;
    const token = node.raised?.zxid;
    if (token === undefined || token <= zxid || !node.isHeld() || !node.raiseOrLose()) return undefined;
    const place = {
      seat: 0,
      record: this.#recordPath,
      node: node.path,
      connection: session.connectionNumber,
    };
    const origin = { kind: 'handover', sinceMs: session.clock.now() } as const;
    return { ...place, term: record.term + 1, version: version + 1, token, origin };
  }

  /**
   * Reads the record after a signal. A client with the permission to create nodes here may give a wrong signal by
   * mistake, as it may also write the record. If the record doesn't name this contender, its node is lost, and the term
   * with it. Never rejects.
   */
  async #confirm(claim: Claim): Promise<void> {
    const { node } = this.#contender;
    try {
      if (await this.#isRecorded(claim)) return;
      await node.renew(); // Over another connection, the server that answered may have been behind.
      if (await this.#isRecorded(claim)) return;
      node.lose(new NodeLostError(`${node.path} got a signal to lead, but its record says otherwise`));
    } catch (cause) {
      const why = `${node.path} can't take up the term that was handed over to it: ${describe(cause)}`;
      node.lose(new NodeLostError(why, { cause })); // This has no effect if the node or the session has ended.
    }
  }

  async #isRecorded({ version }: Claim): Promise<boolean> {
    const { session, node, entry } = this.#contender;
    const { data, stat } = await session.retryUntilAnswered(
      () => session.getData(this.#recordPath),
      node.lost,
    );
    const record = parseRecord(data, stat.version);
    if (record.state !== 'held' || record.node !== entry.node || stat.version !== version) return false;
    return record.leaseMs >= session.leaseMs; // Others wait no longer than the record says.
  }
}

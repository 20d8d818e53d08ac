import { describe, NodeLostError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { ignore, microtask } from '../../platform/async/promises.js';
import { lowerBoundNow } from '../../platform/time/clock.js';
import { nextTick } from '../../platform/time/timers.js';
import { parseRecord } from '../nodes/record.js';
import { signalNodeOf } from '../nodes/signal-node.js';
import type { HeldRecord } from '../takeover/lease-observation.js';
import type { Claim } from '../term/claim.js';

/**
 * Waits for the signal by which a leader that releases its term tells the next in line that it leads now: a notification for this
 * candidate alone, which says what the record says. A candidate that has a lease and a token leads at once. One that misses the
 * signal, or lacks either, loses nothing but time: it sees the end of the leader's node, and reads the record. See
 * docs/design/handover.md.
 */
export class HandoverSignal {
  readonly #contender: Contender;
  readonly #recordPath: string;
  readonly #onTakenUp: (claim: Claim) => void;
  #leader: HeldRecord | undefined;
  #unwatch: () => void = ignore;

  /** @param onTakenUp - the contender leads that term; the record is read in the next tick */
  constructor(contender: Contender, recordPath: string, onTakenUp: (claim: Claim) => void) {
    this.#contender = contender;
    this.#recordPath = recordPath;
    this.#onTakenUp = onTakenUp;
  }

  /** From now on that leader's signal counts, and no other one's. A lost connection ends the watch: it begins anew on the next one. */
  follow(leader: HeldRecord | undefined): void {
    const before = this.#leader;
    this.#leader = leader;
    if (before?.version === leader?.version && before?.connection === leader?.connection) return;
    this.#unwatch();
    this.#unwatch = ignore;
    if (leader === undefined) return;
    const { session, queue, entry } = this.#contender;
    if (!session.guard.trustsCreations(queue)) return; // The signal may be a stranger's.
    const path = `${queue}/${signalNodeOf(entry.node, leader.version + 1)}`;
    this.#unwatch = session.watchCreation(path, () => this.#signalled());
  }

  /** Called on the connection's stack: what is known now was told before the signal. */
  #signalled(): void {
    const leader = this.#leader;
    const claim = leader && this.#claimOf(leader);
    if (claim === undefined) return;
    // Not on the connection's stack, and still before the end of the leader's node is noticed.
    microtask(() => {
      if (this.#leader !== leader) return;
      // The application hears of its term first.
      nextTick(() => void this.#confirm(claim)); // Never rejects.
      this.#onTakenUp(claim);
    });
  }

  /**
   * The term that this leader has handed over just now. The record names the contender, at the next version. The token is the zxid
   * of the newest heartbeat that was answered before the signal: that was carried out before the release, and, if it is the
   * greater one, behind the write that began the former term.
   * @returns `undefined`: there is no such lease or token, and the record has to be read
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
    const origin = { kind: 'handover', sinceMs: lowerBoundNow(session.clock) } as const;
    return { ...place, term: record.term + 1, version: version + 1, token, origin };
  }

  /**
   * Any client that is let in may give a signal, by mistake, as it may write the record. If the record isn't this contender's, its node is lost, and the term
   * with it. Never rejects.
   */
  async #confirm(claim: Claim): Promise<void> {
    const { node } = this.#contender;
    try {
      if (await this.#isRecorded(claim)) return;
      await node.renew(); // Over another connection the server may have been behind.
      if (await this.#isRecorded(claim)) return;
      node.lose(new NodeLostError(`${node.path} was told to lead, by no leader: its record says otherwise`));
    } catch (cause) {
      const why = `${node.path} can't take up the term that it was handed over: ${describe(cause)}`;
      node.lose(new NodeLostError(why, { cause })); // No news, if the node or the session has ended.
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
    return record.leaseMs >= session.leaseMs; // Others wait for no longer than it says.
  }
}

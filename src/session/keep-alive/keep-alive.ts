import { ConnectionLossError, ZooKeeperError } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import {
  hasMember,
  membersOf,
  type SmallSet,
  sizeOf,
  withMember,
  withoutMember,
} from '../../platform/collections/lists-and-sets.js';
import { type Logger, warnOfSetup } from '../../platform/logging/logger.js';
import { afterPendingInput, type Clock, type Timer } from '../../platform/time/clock.js';
import {
  type HeartbeatTimes,
  halfLeaseMs,
  heartbeatIntervalMs,
  replyWithinMs,
} from '../../platform/time/heartbeat-intervals.js';
import type { Connection } from '../connection/connection.js';
import { isThrottled } from '../protocol/error-codes.js';
import type { Request } from '../protocol/requests.js';
import { HeartbeatBatch, type ProvenNode } from './heartbeat-batch.js';
import { HeartbeatsForThread, isHeld, type StallListener } from './heartbeats-for-thread.js';

/** Gives a read that goes out with a heartbeat or a ping, in the same packet, behind the requests that prove the session's nodes. */
export interface AccompanyingReads {
  nextRead(): AccompanyingRead;
}

export interface AccompanyingRead {
  readonly request: Request<unknown>;
  /** The heartbeat with which the read went is answered by now. */
  answered(value: unknown): void;
  refused(error: ZooKeeperError): void;
}

const READS_AT_ONCE = 64; // How many reads go out with a heartbeat. A session that follows more nodes reads them in turn.
const IDLE_READS_AT_ONCE = 20; // A session that waits in more queues reads them in turn.

/**
 * Confirms again and again that this session's nodes exist. It uses a write that a quorum commits and that changes nothing:
 * `multi[check(node)…]`. ZooKeeper's pings prove less, since a follower that lost its quorum answers them, too. Without a node to
 * confirm, a ping keeps the session and finds dead links. A read does the same, so idle reads replace the ping if there are any. Only
 * ClickHouse Keeper, by which a read keeps no session, gets a ping beside the reads.
 *
 * Heartbeats never overlap. If a heartbeat isn't answered in time, the link is dead, whatever the socket says, and the connection ends.
 */
export class KeepAlive {
  readonly #clock: Clock;
  #nodes: SmallSet<ProvenNode>;
  #idleReads: SmallSet<AccompanyingReads>;
  #idleReadAt = Number.NEGATIVE_INFINITY; // When idle reads last went out.
  #reads: SmallSet<AccompanyingReads>; // The reads that have waited longest are the first.
  #batches: readonly HeartbeatBatch[] | undefined; // The batches of all nodes, until a node is added, removed or changed.
  #times: HeartbeatTimes = { leaseMs: 0, sessionTimeoutMs: 0 };
  #connection: Connection | undefined;
  #beating = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #isHurried = false; // Whether the next heartbeat is due at once.
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY; // When the timer is due.
  readonly #logger: Logger;
  readonly #lateReplies: LateReplies;
  readonly #onAnswered: (tookMs: number) => void;
  /** Only of a session whose connections a thread holds. */
  readonly #given: HeartbeatsForThread | undefined;
  #lateMs = 0; // How late the newest heartbeat was.

  /**
   * @param onAnswered - called after each heartbeat that has proved nodes; must not throw
   * @param onStalls - only for a session whose connections a thread holds
   */
  constructor(
    clock: Clock,
    logger: Logger,
    onAnswered: (tookMs: number) => void = ignore,
    onStalls?: StallListener,
  ) {
    this.#clock = clock;
    this.#logger = logger;
    this.#lateReplies = new LateReplies(logger);
    this.#onAnswered = onAnswered;
    if (onStalls !== undefined)
      this.#given = new HeartbeatsForThread(clock, logger, onStalls, () => this.#overdueMs);
  }

  /** Begins to send heartbeats over `connection`, the first one at once if there is a node to confirm. */
  start(connection: Connection, times: HeartbeatTimes): void {
    this.#times = times;
    this.#connection = connection;
    this.#batches = undefined; // The effect of the last heartbeat over another connection isn't known.
    this.#beating = false;
    this.#clearTimer();
    this.#lastAt = this.#nodes !== undefined ? Number.NEGATIVE_INFINITY : this.#clock.now();
    this.#lateMs = 0;
    this.#given?.begin(connection, times, membersOf(this.#nodes));
    this.#schedule();
  }

  /** Stops. The nodes are kept for the next connection. */
  stop(): void {
    this.#given?.withdraw();
    this.#connection = undefined;
    this.#clearTimer();
  }

  /** Confirms `node`, too, from the next heartbeat on. */
  add(node: ProvenNode): void {
    this.#nodes = withMember(this.#nodes, node);
    this.#batches = undefined;
    if (isHeld(node)) this.#given?.changed(node, false);
    this.#schedule();
  }

  remove(node: ProvenNode): void {
    if (!this.has(node)) return;
    this.#nodes = withoutMember(this.#nodes, node);
    this.#batches = undefined;
    this.#given?.remove(node);
  }

  /**
   * Something is held by `node` from now on, or nothing any more. A thread that holds the connection learns of it before anything that is
   * written after this call, and before the code that waits for the hold goes on.
   */
  heldByChanged(node: ProvenNode): void {
    // The listeners of a term or a shard run in this turn, and may block this thread.
    if (this.has(node)) this.#given?.changed(node, node.raised !== undefined);
  }

  /** The session has been granted a shorter lease. */
  leaseShortened(): void {
    for (const node of membersOf(this.#nodes)) node.leaseShortened?.();
  }

  get #overdueMs(): number {
    const overdueMs = this.#clock.now() - this.#regularlyDueAt;
    return overdueMs > 0 ? overdueMs : this.#lateMs; // The overdue one was sent before the answers of the stall were read.
  }

  has(node: ProvenNode): boolean {
    return hasMember(this.#nodes, node);
  }

  /**
   * Sends the reads with each heartbeat, four times in a lease, until they are removed. If the session has very many of them, they
   * go out in turn.
   * @param soon - makes the first heartbeat due at once, unless the session has several nodes to confirm
   */
  addReads(reads: AccompanyingReads, soon = false): void {
    this.#reads = withMember(this.#reads, reads);
    this.#isHurried ||= soon && sizeOf(this.#nodes) <= 1;
    this.#schedule();
  }

  removeReads(reads: AccompanyingReads): void {
    this.#reads = withoutMember(this.#reads, reads);
  }

  /** Sends the reads as often as an idle session sends a ping, until they are removed. */
  addIdleReads(reads: AccompanyingReads): void {
    this.#idleReads = withMember(this.#idleReads, reads);
  }

  removeIdleReads(reads: AccompanyingReads): void {
    this.#idleReads = withoutMember(this.#idleReads, reads);
  }

  get #dueAt(): number {
    return this.#isHurried ? Number.NEGATIVE_INFINITY : this.#regularlyDueAt;
  }

  get #regularlyDueAt(): number {
    return this.#lastAt + heartbeatIntervalMs(sizeOf(this.#nodes) + sizeOf(this.#reads), this.#times);
  }

  /**
   * Sets the timer. A timer that is due too early keeps running and checks again, because locks are acquired and released much more often.
   */
  #schedule(): void {
    const connection = this.#connection;
    if (connection === undefined || this.#beating || this.#timerAt <= this.#dueAt) return;
    this.#clearTimer();
    this.#timerAt = this.#dueAt;
    this.#timer = this.#clock.after(Math.max(0, this.#timerAt - this.#clock.now()), () => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      // Never rejects: an error ends the connection.
      if (this.#dueAt <= this.#clock.now()) void this.#beat(connection);
      else this.#schedule();
    });
  }

  #clearTimer(): void {
    this.#timer?.clear();
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  async #beat(connection: Connection): Promise<void> {
    this.#beating = true;
    this.#lateMs = this.#lastAt === Number.NEGATIVE_INFINITY ? 0 : this.#clock.now() - this.#regularlyDueAt;
    this.#isHurried = false;
    this.#lastAt = this.#clock.now();
    const limitMs = replyWithinMs(this.#times);
    const tooLate = afterPendingInput(this.#clock, limitMs, () => {
      connection.destroy(
        new ConnectionLossError(`no reply to a heartbeat within ${Math.round(limitMs)} ms: the link is dead`),
      );
    });
    if (this.#batches === undefined) {
      this.#batches = HeartbeatBatch.of(membersOf(this.#nodes));
      this.#given?.sending(this.#batches);
    }
    this.#given?.takeTookMs();
    const proves = this.#batches.length > 0;
    const beats: Promise<unknown>[] = [
      ...this.#batches.map((batch) => this.#confirm(batch, connection)),
      ...[...this.#readsInTurn(), ...this.#dueIdleReads()].map((reads) => this.#read(reads, connection)),
    ];
    if (beats.length === 0 || (connection.isKeeper && !proves)) beats.push(connection.ping());
    const failures = (await Promise.allSettled(beats)).flatMap((beat) =>
      beat.status === 'rejected' ? [beat.reason as Error] : [],
    );
    const lost = failures.find((error) => !isThrottled(error));
    tooLate.clear();
    if (this.#connection !== connection) return;
    // A connection reports its own end. After any other failure it isn't known whether the connection is of use, so the session
    // takes another.
    if (lost !== undefined) connection.destroy(lost);
    else if (failures.length > 0) {
      // The server is there, and keeps the session. The next heartbeat comes in its turn.
      const { leaseMs } = this.#times;
      this.#logger.info({ server: connection.server, leaseMs }, 'a server throttled a heartbeat');
    } else if (proves) {
      const tookMs = this.#given?.takeTookMs() ?? this.#clock.now() - this.#lastAt;
      this.#lateReplies.note(tookMs, this.#times.leaseMs);
      this.#onAnswered(tookMs);
    }
    this.#beating = false;
    this.#schedule();
  }

  /** The reads for this heartbeat. They become the last of all. */
  #readsInTurn(): readonly AccompanyingReads[] {
    const all = membersOf(this.#reads);
    if (all.length <= READS_AT_ONCE) return all;
    const reads = all.slice(0, READS_AT_ONCE);
    for (const each of reads) this.#reads = withMember(withoutMember(this.#reads, each), each);
    return reads;
  }

  /** The idle reads that are due now. They go out as often as an idle session sends a ping. */
  #dueIdleReads(): readonly AccompanyingReads[] {
    const idleMs = heartbeatIntervalMs(0, this.#times);
    if (this.#lastAt - this.#idleReadAt < idleMs / 2) return [];
    const reads = membersOf(this.#idleReads).slice(0, IDLE_READS_AT_ONCE);
    if (reads.length > 0) this.#idleReadAt = this.#lastAt;
    for (const each of reads) this.#idleReads = withMember(withoutMember(this.#idleReads, each), each);
    return reads;
  }

  async #read(reads: AccompanyingReads, connection: Connection): Promise<void> {
    let read: AccompanyingRead;
    try {
      read = reads.nextRead();
    } catch {
      // A server may have nodes whose paths are too long for requests of this client.
      return void (await connection.ping());
    }
    try {
      read.answered((await connection.send(read.request)).value);
    } catch (error) {
      // A server that refuses, because the session may not read the node for example, has answered.
      if (!(error instanceof ZooKeeperError)) throw error;
      read.refused(error);
    }
  }

  /**
   * Confirms the nodes of `batch` in one committed write. Nodes that are gone or unreadable mustn't keep the others from being confirmed.
   */
  async #confirm(batch: HeartbeatBatch, connection: Connection): Promise<void> {
    try {
      batch.confirmed(await connection.send(batch.request), (node) => this.has(node));
    } catch (error) {
      batch.refused(error, (node) => this.remove(node));
      this.#batches = undefined;
      // Nodes that were removed meanwhile may be gone as well. That isn't a loss. The servers say which part they refuse first, so each node
      // that is left has a request of its own: however many are gone, the others are confirmed with the second round trip.
      const left = batch.nodes.filter((node) => this.has(node)).flatMap((node) => HeartbeatBatch.of([node]));
      await Promise.all(left.map((each) => this.#confirm(each, connection)));
    }
  }
}

const IN_A_ROW = 3; // A single late reply may come from a pause of a server or of this process.
const MESSAGE =
  'replies to heartbeats take longer than half a lease: terms and locks are lost again and again. Set leaseMs to three times ' +
  'the time of a reply, or find out what is slow: the disks of the servers, the network, or the event loop of this process';

/** Warns once if replies are too slow for the lease. Of two heartbeats, the second is sent only when the first is answered. */
export class LateReplies {
  readonly #logger: Logger;
  #inARow = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** A heartbeat for nodes was answered after `tookMs`. */
  note(tookMs: number, leaseMs: number): void {
    if (this.#inARow === IN_A_ROW) return; // The warning was logged.
    this.#inARow = tookMs > halfLeaseMs(leaseMs) ? this.#inARow + 1 : 0;
    if (this.#inARow < IN_A_ROW) return;
    warnOfSetup(this.#logger, { leaseMs, replyMs: Math.round(tookMs) }, MESSAGE);
  }
}

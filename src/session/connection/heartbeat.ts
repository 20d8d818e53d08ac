import { ConnectionLossError, NoNodeError, ZooKeeperError } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import {
  hasMember,
  membersOf,
  type SmallSet,
  sizeOf,
  withMember,
  withoutMember,
} from '../../platform/collections/small-set.js';
import type { Logger } from '../../platform/logging/logger.js';
import { afterPendingInput, type Clock, type Timer } from '../../platform/time/clock.js';
import type { Access } from '../protocol/acl.js';
import { existsRequest, type Request } from '../protocol/requests.js';
import type { Connection } from './connection.js';
import { HeartbeatBatch, type ProvenNode } from './heartbeat-batch.js';
import { LateReplies } from './late-replies.js';

/** A node of another session, of which the heartbeat checks from time to time that it exists. */
export interface ExistenceProbe {
  /** The absolute path, the chroot included. */
  readonly path: string;
  /** A check found the node gone. It is the last check. */
  gone(): void;
  /** Something else to read this time, in place of that check. */
  instead?(): AccompanyingRead | undefined;
}

export interface HeartbeatTimes {
  readonly leaseMs: number;
  readonly sessionTimeoutMs: number;
}

/** Gives a read to go out with a heartbeat, in the same packet, behind what proves the session's nodes. */
export interface AccompanyingReads {
  nextRead(): AccompanyingRead;
}

export interface AccompanyingRead {
  readonly request: Request<unknown>;
  /** @param sentAt - when it was sent; the heartbeat that it went with is answered */
  answered(value: unknown, sentAt: number): void;
  refused(error: ZooKeeperError): void;
}

const MOST_RAISED = 64; // Nodes of one session that raise versions.
const MOST_READS = 64; // With each heartbeat of a session.
const MOST_SLOW_READS = 1; // Of a session. They make something faster: their owners can do without.
const PROBES_AT_ONCE = 20; // A session that waits in more queues than that checks them in turn.

/**
 * How long after one heartbeat the next is due: five in a session timeout, and four in a lease while anything is held. With
 * {@link replyWithinMs} a dead link is found within 8/15 of the session timeout: the rest is for finding another server.
 */
export function heartbeatIntervalMs(nodes: number, { leaseMs, sessionTimeoutMs }: HeartbeatTimes): number {
  const idleMs = sessionTimeoutMs / 5;
  return nodes > 0 ? Math.min(leaseMs / 4, idleMs) : idleMs;
}

/**
 * How long a heartbeat may go without a reply before the link counts as dead. A lease has no say in it: when replies come later
 * than a short lease lasts, another connection wouldn't be faster, and everything else of the session would lose this one.
 */
export function replyWithinMs({ sessionTimeoutMs }: HeartbeatTimes): number {
  return sessionTimeoutMs / 3;
}

/**
 * Confirms again and again that this session's nodes are in place, with a write that a quorum commits and that changes nothing:
 * `multi[check(node)…]`. ZooKeeper's pings prove less: a follower that lost its quorum answers them. Without a node to confirm,
 * a ping keeps the session and finds dead links. A read does too: where there are probes, they take the ping's place.
 * Heartbeats never overlap. One that isn't answered in time shows that the link is dead, whatever the socket says, and ends the
 * connection.
 */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #access: Access;
  #nodes: SmallSet<ProvenNode>;
  #probes: SmallSet<ExistenceProbe>; // The probe that has waited longest comes first.
  #slowlyAt = Number.NEGATIVE_INFINITY; // When probes or slow reads went out last.
  #raising: SmallSet<ProvenNode>; // Of the nodes, those that raise versions.
  #reads: SmallSet<AccompanyingReads>;
  #slowReads: SmallSet<AccompanyingReads>;
  #batches: readonly HeartbeatBatch[] | undefined; // Of all nodes, until one is added, removed or changed.
  #times: HeartbeatTimes = { leaseMs: 0, sessionTimeoutMs: 0 };
  #connection: Connection | undefined;
  #beating = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #isHurried = false; // Whether the next one is due at once.
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY; // When the timer is due.
  readonly #lateReplies: LateReplies;
  readonly #onAnswered: (tookMs: number) => void;

  /**
   * @param access - of the nodes that heartbeats create
   * @param onAnswered - called after each heartbeat that has proved nodes; must not throw
   */
  constructor(
    clock: Clock,
    logger: Logger,
    access: Access = 'world',
    onAnswered: (tookMs: number) => void = ignore,
  ) {
    this.#clock = clock;
    this.#lateReplies = new LateReplies(logger);
    this.#access = access;
    this.#onAnswered = onAnswered;
  }

  /** Begins to beat over `connection`, the first time at once if there is a node to confirm. */
  start(connection: Connection, times: HeartbeatTimes): void {
    this.#times = times;
    this.#connection = connection;
    this.#batches = undefined; // What the last heartbeat over another connection has done isn't known.
    this.#beating = false;
    this.#clearTimer();
    this.#lastAt = this.#nodes !== undefined ? Number.NEGATIVE_INFINITY : this.#clock.now();
    this.#schedule();
  }

  /** Stops. The nodes are kept for the next connection. */
  stop(): void {
    this.#connection = undefined;
    this.#clearTimer();
  }

  /** Confirms `node` too, from the next heartbeat on. */
  add(node: ProvenNode): void {
    this.#nodes = withMember(this.#nodes, node);
    this.#batches = undefined;
    this.#schedule();
  }

  remove(node: ProvenNode): void {
    this.#nodes = withoutMember(this.#nodes, node);
    this.#raising = withoutMember(this.#raising, node);
    this.#batches = undefined;
  }

  has(node: ProvenNode): boolean {
    return hasMember(this.#nodes, node);
  }

  /** What the heartbeats for a node consist of has changed. */
  changed(): void {
    this.#batches = undefined;
  }

  /** Whether another node may raise a version: each costs the servers a write, where a check costs next to nothing. */
  hasRoomToRaise(): boolean {
    return sizeOf(this.#raising) < MOST_RAISED;
  }

  /** `node` will raise a version: the room for that is its own until it is removed, also before heartbeats are sent for it. */
  takeRoom(node: ProvenNode): void {
    this.#raising = withMember(this.#raising, node);
  }

  /**
   * Reads with each heartbeat, four times in a lease, until it is removed. `false`: there are too many of them already.
   * @param soon - the first heartbeat is due at once, unless the session has several nodes to confirm
   */
  addReads(reads: AccompanyingReads, soon = false): boolean {
    if (!hasMember(this.#reads, reads) && sizeOf(this.#reads) >= MOST_READS) return false;
    this.#reads = withMember(this.#reads, reads);
    this.#isHurried ||= soon && sizeOf(this.#nodes) <= 1;
    this.#schedule();
    return true;
  }

  removeReads(reads: AccompanyingReads): void {
    this.#reads = withoutMember(this.#reads, reads);
  }

  /** Reads as often as an idle session sends a ping, until it is removed. `false`: there are too many of them already. */
  addSlowReads(reads: AccompanyingReads): boolean {
    if (!hasMember(this.#slowReads, reads) && sizeOf(this.#slowReads) >= MOST_SLOW_READS) return false;
    this.#slowReads = withMember(this.#slowReads, reads);
    return true;
  }

  removeSlowReads(reads: AccompanyingReads): void {
    this.#slowReads = withoutMember(this.#slowReads, reads);
  }

  /** Checks a node as often as an idle session sends a ping, until the node is gone or the probe is removed. */
  addProbe(probe: ExistenceProbe): void {
    this.#probes = withMember(this.#probes, probe);
  }

  removeProbe(probe: ExistenceProbe): void {
    this.#probes = withoutMember(this.#probes, probe);
  }

  get #dueAt(): number {
    if (this.#isHurried) return Number.NEGATIVE_INFINITY;
    return this.#lastAt + heartbeatIntervalMs(sizeOf(this.#nodes) + sizeOf(this.#reads), this.#times);
  }

  /** A timer that is due too early is left running, and checks again: locks are acquired and released much more often. */
  #schedule(): void {
    const connection = this.#connection;
    if (connection === undefined || this.#beating || this.#timerAt <= this.#dueAt) return;
    this.#clearTimer();
    this.#timerAt = this.#dueAt;
    this.#timer = this.#clock.after(Math.max(0, this.#timerAt - this.#clock.now()), () => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      // Never rejects: what fails ends the connection.
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
    this.#isHurried = false;
    this.#lastAt = this.#clock.now();
    const limitMs = replyWithinMs(this.#times);
    const tooLate = afterPendingInput(this.#clock, limitMs, () => {
      connection.destroy(
        new ConnectionLossError(`no reply to a heartbeat within ${Math.round(limitMs)} ms: the link is dead`),
      );
    });
    this.#batches ??= HeartbeatBatch.of(membersOf(this.#nodes), this.#access);
    const proves = this.#batches.length > 0;
    const { slowReads, probes } = this.#dueSlowly();
    const beats: Promise<unknown>[] = [
      ...this.#batches.map((batch) => this.#confirm(batch, connection)),
      ...[...membersOf(this.#reads), ...slowReads].map((reads) => this.#read(reads.nextRead(), connection)),
      ...probes.map((probe) => this.#check(probe, connection)),
    ];
    if (beats.length === 0) beats.push(connection.ping());
    const lost = (await Promise.allSettled(beats)).find((beat) => beat.status === 'rejected');
    tooLate.clear();
    if (this.#connection !== connection) return;
    // A connection reports its own end. After any other failure it isn't known whether it is of use: take another.
    if (lost !== undefined) connection.destroy(lost.reason as Error);
    else if (proves) {
      const tookMs = this.#clock.now() - this.#lastAt;
      this.#lateReplies.note(tookMs, this.#times.leaseMs);
      this.#onAnswered(tookMs);
    }
    this.#beating = false;
    this.#schedule();
  }

  /** What goes out as often as an idle session sends a ping. */
  #dueSlowly(): { slowReads: readonly AccompanyingReads[]; probes: readonly ExistenceProbe[] } {
    const idleMs = heartbeatIntervalMs(0, this.#times);
    if (this.#lastAt - this.#slowlyAt < idleMs / 2) return { slowReads: [], probes: [] };
    const slowReads = membersOf(this.#slowReads);
    const probes = membersOf(this.#probes).slice(0, PROBES_AT_ONCE);
    if (slowReads.length + probes.length > 0) this.#slowlyAt = this.#lastAt;
    for (const probe of probes) this.#probes = withMember(withoutMember(this.#probes, probe), probe);
    return { slowReads, probes };
  }

  async #check(probe: ExistenceProbe, connection: Connection): Promise<void> {
    const other = probe.instead?.();
    if (other !== undefined) return await this.#read(other, connection);
    try {
      await connection.send(existsRequest(probe.path));
    } catch (error) {
      // A server that refuses, since the session may not read the node say, has answered.
      if (!(error instanceof ZooKeeperError)) throw error;
      if (!(error instanceof NoNodeError && hasMember(this.#probes, probe))) return;
      this.removeProbe(probe);
      probe.gone();
    }
  }

  async #read(read: AccompanyingRead, connection: Connection): Promise<void> {
    try {
      const { value, sentAt } = await connection.send(read.request);
      read.answered(value, sentAt);
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) throw error; // As in `#check`.
      read.refused(error);
    }
  }

  /** Confirms the nodes of `batch` in one committed write. Those that are gone or unreadable mustn't hinder the others. */
  async #confirm(batch: HeartbeatBatch, connection: Connection): Promise<void> {
    try {
      batch.confirmed(await connection.send(batch.request), (node) => this.has(node));
    } catch (error) {
      batch.refused(error, (node) => this.remove(node));
      this.changed();
      // Nodes that were removed meanwhile may be gone too, and rightly so.
      const left = HeartbeatBatch.of(
        batch.nodes.filter((node) => this.has(node)),
        this.#access,
      );
      await Promise.all(left.map((each) => this.#confirm(each, connection)));
    }
  }
}

import { ConnectionLossError, NoNodeError, ZooKeeperError } from '../../errors.js';
import {
  hasMember,
  membersOf,
  type SmallSet,
  sizeOf,
  withMember,
  withoutMember,
} from '../../platform/collections/small-set.js';
import { afterPendingInput, type Clock, type Timer } from '../../platform/time/clock.js';
import { checksRequest, existsRequest, type Request, TransactionError } from '../protocol/requests.js';
import type { Connection } from './connection.js';

/** A node that heartbeats are sent for. */
export interface HeartbeatNode {
  /** The absolute path, the chroot included. */
  readonly absolutePath: string;
  /** The servers have committed a heartbeat for the node that was sent at `sentAt`. */
  confirmed(sentAt: number): void;
  gone(): void;
  /** The node's access list doesn't let the session read it any more: no heartbeat can confirm it. */
  unreadable(error: Error): void;
}

/** A node of another session, of which the heartbeat checks from time to time that it exists. */
export interface ExistenceProbe {
  /** The absolute path, the chroot included. */
  readonly path: string;
  /** A check found the node gone. It is the last check. */
  gone(): void;
}

export interface HeartbeatTimes {
  readonly leaseMs: number;
  readonly sessionTimeoutMs: number;
}

/** Nodes that one request confirms. It is made once and sent again and again. */
interface Batch {
  readonly nodes: readonly HeartbeatNode[];
  readonly request: Request<unknown>;
}

/** Whether the refusal is about a node. After any other, it isn't known whether the connection is of use. */
function isAboutNode(error: ZooKeeperError): boolean {
  return error instanceof NoNodeError || error.code === 'NO_AUTH';
}

function batchOf(nodes: readonly HeartbeatNode[]): Batch {
  return { nodes, request: checksRequest(nodes.map(({ absolutePath }) => absolutePath)) };
}

const NODES_PER_REQUEST = 200; // A request must stay under a server's 1 MB, and a path may have 4 KB.
const PROBES_AT_ONCE = 20; // A session that waits in more queues than that checks them in turn.

/**
 * How long after one heartbeat the next is due: four in a lease while anything is held, else five in a session timeout. With
 * {@link replyWithinMs} a dead link is found within 8/15 of the session timeout: the rest is for finding another server.
 */
export function heartbeatIntervalMs(nodes: number, { leaseMs, sessionTimeoutMs }: HeartbeatTimes): number {
  return nodes > 0 ? leaseMs / 4 : sessionTimeoutMs / 5;
}

/** How long a heartbeat may go without a reply before the link counts as dead. */
export function replyWithinMs({ leaseMs, sessionTimeoutMs }: HeartbeatTimes): number {
  return Math.min(leaseMs, sessionTimeoutMs / 3);
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
  #nodes: SmallSet<HeartbeatNode>;
  #probes: SmallSet<ExistenceProbe>; // The probe that has waited longest comes first.
  #probedAt = Number.NEGATIVE_INFINITY;
  #batches: readonly Batch[] | undefined; // Of all nodes, until one is added or removed.
  #times: HeartbeatTimes = { leaseMs: 0, sessionTimeoutMs: 0 };
  #connection: Connection | undefined;
  #beating = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #timerAt = Number.POSITIVE_INFINITY; // When the timer is due.

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins to beat over `connection`, the first time at once if there is a node to confirm. */
  start(connection: Connection, times: HeartbeatTimes): void {
    this.#times = times;
    this.#connection = connection;
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
  add(node: HeartbeatNode): void {
    this.#nodes = withMember(this.#nodes, node);
    this.#batches = undefined;
    this.#schedule();
  }

  remove(node: HeartbeatNode): void {
    this.#nodes = withoutMember(this.#nodes, node);
    this.#batches = undefined;
  }

  /** Checks a node as often as an idle session sends a ping, until the node is gone or the probe is removed. */
  addProbe(probe: ExistenceProbe): void {
    this.#probes = withMember(this.#probes, probe);
  }

  removeProbe(probe: ExistenceProbe): void {
    this.#probes = withoutMember(this.#probes, probe);
  }

  get #dueAt(): number {
    return this.#lastAt + heartbeatIntervalMs(sizeOf(this.#nodes), this.#times);
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
    this.#lastAt = this.#clock.now();
    const limitMs = replyWithinMs(this.#times);
    const tooLate = afterPendingInput(this.#clock, limitMs, () => {
      connection.destroy(
        new ConnectionLossError(`no reply to a heartbeat within ${Math.round(limitMs)} ms: the link is dead`),
      );
    });
    this.#batches ??= this.#inBatches();
    const beats: Promise<unknown>[] = [
      ...this.#batches.map((batch) => this.#confirm(batch, connection)),
      ...this.#dueProbes().map((probe) => this.#check(probe, connection)),
    ];
    if (beats.length === 0) beats.push(connection.ping());
    const lost = (await Promise.allSettled(beats)).find((beat) => beat.status === 'rejected');
    tooLate.clear();
    if (this.#connection !== connection) return;
    // A connection reports its own end. After any other failure it isn't known whether it is of use: take another.
    if (lost !== undefined) connection.destroy(lost.reason as Error);
    this.#beating = false;
    this.#schedule();
  }

  #inBatches(): Batch[] {
    const nodes = membersOf(this.#nodes);
    return Array.from({ length: Math.ceil(nodes.length / NODES_PER_REQUEST) }, (_, index) =>
      batchOf(nodes.slice(index * NODES_PER_REQUEST, (index + 1) * NODES_PER_REQUEST)),
    );
  }

  #dueProbes(): ExistenceProbe[] {
    const idleMs = heartbeatIntervalMs(0, this.#times);
    if (this.#probes === undefined || this.#lastAt - this.#probedAt < idleMs / 2) return [];
    this.#probedAt = this.#lastAt;
    const due = membersOf(this.#probes).slice(0, PROBES_AT_ONCE);
    for (const probe of due) this.#probes = withMember(withoutMember(this.#probes, probe), probe);
    return due;
  }

  async #check(probe: ExistenceProbe, connection: Connection): Promise<void> {
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

  /** Confirms the nodes of `batch` in one committed write. Those that are gone or unreadable mustn't hinder the others. */
  async #confirm(batch: Batch, connection: Connection): Promise<void> {
    for (let left = batch; left.nodes.length > 0; ) {
      const failed = await this.#send(left, connection);
      if (failed === undefined) return;
      const { node, error } = failed;
      this.remove(node);
      if (error instanceof NoNodeError) node.gone();
      else node.unreadable(error);
      // Nodes that were removed meanwhile may be gone too, and rightly so.
      left = batchOf(left.nodes.filter((node) => hasMember(this.#nodes, node)));
    }
  }

  /** Gives the node that kept `batch` from being confirmed, and why. */
  async #send({ nodes, request }: Batch, connection: Connection) {
    try {
      const { sentAt } = await connection.send(request);
      for (const node of nodes) if (hasMember(this.#nodes, node)) node.confirmed(sentAt);
      return undefined;
    } catch (error) {
      if (!(error instanceof TransactionError && isAboutNode(error.error))) throw error;
      return { node: nodes[error.failedPart] as HeartbeatNode, error: error.error };
    }
  }
}

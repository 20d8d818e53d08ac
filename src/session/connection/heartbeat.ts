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
  /** A heartbeat that was sent at `sentAt` found the node in place. */
  confirmed(sentAt: number): void;
  /** A heartbeat found the node gone. */
  gone(): void;
  /** Its access list doesn't let the session read it any more: nothing can prove that it is there. */
  unreadable(error: Error): void;
}

/** A node of somebody else's that is looked at now and then. */
export interface ExistenceProbe {
  /** The absolute path, the chroot included. */
  readonly path: string;
  /** It was seen to be gone. It isn't looked at any more then. */
  gone(): void;
}

/** The periods of heartbeats, in milliseconds. */
export interface HeartbeatTimes {
  readonly leaseMs: number;
  readonly sessionTimeoutMs: number;
}

/** Nodes that are proved by one request, which is made once and sent again and again. */
interface Part {
  readonly nodes: readonly HeartbeatNode[];
  readonly request: Request<unknown>;
}

/** A node that wasn't proved, and why. */
interface Failed {
  readonly node: HeartbeatNode;
  readonly error: ZooKeeperError;
}

/** Whether it says something about a node. Any other refusal leaves the connection of unknown use. */
function isAboutNode(error: ZooKeeperError): boolean {
  return error instanceof NoNodeError || error.code === 'NO_AUTH';
}

function partOf(nodes: readonly HeartbeatNode[]): Part {
  return { nodes, request: checksRequest(nodes.map(({ absolutePath }) => absolutePath)) };
}

// A request must stay under a server's 1 MB, and a path may have 4 KB.
const NODES_IN_A_MULTI = 200;
// Whoever waits in more queues looks at them in turn.
const PROBES_AT_ONCE = 20;

/**
 * How long after one heartbeat the next is due: four in a lease while anything is held, else five in a session timeout.
 * With {@link replyWithinMs} a dead link is found within 8/15 of the session timeout, which leaves the rest of it for
 * finding another server.
 */
export function heartbeatIntervalMs(nodes: number, { leaseMs, sessionTimeoutMs }: HeartbeatTimes): number {
  return nodes > 0 ? leaseMs / 4 : sessionTimeoutMs / 5;
}

/** How long a heartbeat may go without a reply before the link counts as dead. */
export function replyWithinMs({ leaseMs, sessionTimeoutMs }: HeartbeatTimes): number {
  return Math.min(leaseMs, sessionTimeoutMs / 3);
}

/**
 * Proves again and again that this session's nodes are still there, with a write that a quorum commits and that
 * changes nothing: `multi[check(node)…]`. ZooKeeper's pings prove less: a follower that lost its quorum answers them.
 * With no node to prove, a ping keeps the session and finds dead links; so does a read, and where somebody has use for
 * one, that goes in its place.
 *
 * Heartbeats never overlap. One that isn't answered in time shows that the link is dead, whatever the socket says, and
 * ends the connection.
 */
export class Heartbeat {
  readonly #clock: Clock;
  #nodes: SmallSet<HeartbeatNode>;
  /** Those that wait longest for it first. */
  #probes: SmallSet<ExistenceProbe>;
  #probedAt = Number.NEGATIVE_INFINITY;
  /** Of all nodes, until there is another one or one less. */
  #parts: readonly Part[] | undefined;
  #times: HeartbeatTimes = { leaseMs: 0, sessionTimeoutMs: 0 };
  #connection: Connection | undefined;
  #beating = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  /** When the timer is due. */
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins to beat over `connection`, the first time at once if there is a node to prove. */
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

  /** Proves `node` too, from the next heartbeat on. */
  add(node: HeartbeatNode): void {
    this.#nodes = withMember(this.#nodes, node);
    this.#parts = undefined;
    this.#schedule();
  }

  remove(node: HeartbeatNode): void {
    this.#nodes = withoutMember(this.#nodes, node);
    this.#parts = undefined;
  }

  /** Looks at a node as often as an idle session is heard of, until it is gone or that is taken back. */
  addProbe(probe: ExistenceProbe): void {
    this.#probes = withMember(this.#probes, probe);
  }

  removeProbe(probe: ExistenceProbe): void {
    this.#probes = withoutMember(this.#probes, probe);
  }

  get #dueAt(): number {
    return this.#lastAt + heartbeatIntervalMs(sizeOf(this.#nodes), this.#times);
  }

  /** A timer that is due too early is left as it is, and looks again: locks are taken and given back much more often. */
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
    this.#parts ??= this.#inParts();
    const beats: Promise<unknown>[] = [
      ...this.#parts.map((part) => this.#prove(part, connection)),
      ...this.#dueProbes().map((probe) => this.#look(probe, connection)),
    ];
    if (beats.length === 0) beats.push(connection.ping());
    const lost = (await Promise.allSettled(beats)).find((beat) => beat.status === 'rejected');
    tooLate.clear();
    if (this.#connection !== connection) return;
    // A connection that ends tells so itself. Anything else that goes wrong leaves it of unknown use: take another.
    if (lost !== undefined) connection.destroy(lost.reason as Error);
    this.#beating = false;
    this.#schedule();
  }

  #inParts(): Part[] {
    const nodes = membersOf(this.#nodes);
    return Array.from({ length: Math.ceil(nodes.length / NODES_IN_A_MULTI) }, (_, index) =>
      partOf(nodes.slice(index * NODES_IN_A_MULTI, (index + 1) * NODES_IN_A_MULTI)),
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

  async #look(probe: ExistenceProbe, connection: Connection): Promise<void> {
    try {
      await connection.send(existsRequest(probe.path));
    } catch (error) {
      // A server that refuses, because it doesn't let everybody look say, has answered.
      if (!(error instanceof ZooKeeperError)) throw error;
      if (!(error instanceof NoNodeError && hasMember(this.#probes, probe))) return;
      this.removeProbe(probe);
      probe.gone();
    }
  }

  /**
   * Proves all nodes of `part` in one committed write, less the ones that turn out to be gone, or that the session may not
   * read: these mustn't keep the others from being proved.
   */
  async #prove(part: Part, connection: Connection): Promise<void> {
    for (let proving = part; proving.nodes.length > 0; ) {
      const failed = await this.#check(proving, connection);
      if (failed === undefined) return;
      const { node, error } = failed;
      this.remove(node);
      if (error instanceof NoNodeError) node.gone();
      else node.unreadable(error);
      // Those that were taken off meanwhile may be gone too, and that is nobody's loss.
      proving = partOf(proving.nodes.filter((node) => hasMember(this.#nodes, node)));
    }
  }

  async #check({ nodes, request }: Part, connection: Connection): Promise<Failed | undefined> {
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

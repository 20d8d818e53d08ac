import {
  type HeartbeatTimes,
  pingsEveryMs,
  repeatsEveryMs,
} from '../../platform/time/heartbeat-intervals.js';
import type { MachineInstant } from '../../platform/time/machine-instant.js';
import { WireReader } from '../../wire/jute.js';
import {
  decodeReply,
  encodePing,
  FIRST_THREAD_XID,
  inHeartbeats,
  joinTransactions,
  LENGTH_BYTES,
  PING_XID,
  XID_OFFSET,
} from '../protocol/frame-layout.js';
import { type PartOutcome, readOutcomes } from '../protocol/multi-and-stats.js';
import type { Handling } from './frame-filter.js';

/** A node that a heartbeat proves. */
export interface GivenNode {
  /** Which of the session's nodes it is. */
  readonly id: number;
  /** Which part of the heartbeat raises a version for the node; `undefined` if the heartbeat only checks that the node exists. */
  readonly raisedBy: number | undefined;
  /** The newest such version that the main thread knows. */
  readonly version: number;
}

/** A heartbeat in its steady form: it checks nodes and raises versions. */
export interface GivenHeartbeat {
  /** The bytes as they are sent, with their length, and with any xid. */
  readonly frame: Uint8Array;
  readonly nodes: readonly GivenNode[];
}

/** A node by which something is held, and its own heartbeat. The thread joins those of many nodes. */
export interface HeldNode extends GivenNode, Pick<GivenHeartbeat, 'frame'> {
  /** How many parts its heartbeat has. */
  readonly parts: number;
  /** The lease of the node, in shared memory. */
  readonly memory: readonly SharedArrayBuffer[];
}

/** What the thread does while the main thread stands still, as far as it has changed. */
export interface Given {
  readonly leaseMs: number;
  readonly sessionTimeoutMs: number;
  /** The ids of nodes by which nothing is held any more. */
  readonly released: readonly number[];
  /** Nodes by which something is held from now on, or in other memory. */
  readonly held: readonly HeldNode[];
  /** All heartbeats of the main thread from now on; `undefined`: as before. The thread knows them in order to see their replies. */
  readonly heartbeats: readonly GivenHeartbeat[] | undefined;
}

/** The answer to a heartbeat of the thread, which the main thread doesn't get. */
export interface RepeatAnswer {
  /** The newest transaction that the answer has shown. */
  readonly zxid: bigint;
  /** The versions that it raised. None if the servers have refused it. */
  readonly versions: readonly Pick<GivenNode, 'id' | 'version'>[];
}

/** What the repeater needs of the thread. */
export interface RepeaterPort {
  /** The time, for waits. */
  now(): number;
  /**
   * This instant, by clocks that are read within this call. `undefined`: a heartbeat that is sent now extends no lease, since the main
   * thread's event loop doesn't turn.
   */
  instant(): MachineInstant | undefined;
  write(frame: Buffer): void;
  /** A proof that was sent then is committed. */
  proved(lease: SharedArrayBuffer, sentAt: MachineInstant): void;
  /** A heartbeat of the main thread was answered after `tookMs` milliseconds. */
  answered(tookMs: number): void;
  /** A heartbeat of the thread was answered. */
  repeated(answer: RepeatAnswer): void;
}

/** `off`: no server serves the session, or the peer isn't a ZooKeeper server. */
type State =
  | { readonly name: 'off' }
  | {
      readonly name: 'on';
      readonly times: HeartbeatTimes;
      /** The nodes of which the main thread has sent no heartbeat that was confirmed since one was not. */
      readonly doubted: ReadonlySet<number>;
      readonly heartbeatAt: number;
      readonly writtenAt: number;
    }
  | { readonly name: 'unreadable' };

/** A heartbeat on its way. */
interface Sent extends Pick<GivenHeartbeat, 'nodes'> {
  /** For waits. */
  readonly sentAt: number;
  /** From when a lease counts: from before the heartbeat was written. `undefined`: it extends none. */
  readonly instant: MachineInstant | undefined;
}

const OFF: State = { name: 'off' };
const NONE: ReadonlySet<number> = new Set();
const LAST_THREAD_XID = 2 ** 31 - 1;
const BEHIND_XID = XID_OFFSET + 4;

/**
 * Decides, for one connection, when the thread sends a heartbeat in place of the main thread, and which leases a reply extends.
 *
 * It repeats only what the main thread gave for what it holds, part by part. It is a proof as any other, and the argument of
 * src/election/README.md holds for both. It repeats nothing while a heartbeat or a ping of either thread is unanswered. If a heartbeat of either was refused, or has shown a version that didn't rise, it
 * repeats none for the same nodes until the main thread has sent one that is confirmed. If none is left, pings keep the session.
 */
export class HeartbeatRepeater {
  readonly #port: RepeaterPort;
  #state: State = OFF;
  #isHandshakeWritten = false;
  #xid = FIRST_THREAD_XID;
  /** The heartbeats of both threads that aren't answered, by xid. */
  readonly #unanswered = new Map<number, Sent>();
  /** The pings of both threads that aren't answered, in their order: only that tells one from another. */
  readonly #pings: ('main' | 'own')[] = [];
  /** The newest version of each node that an answer has shown. */
  readonly #versions = new Map<number, number>();
  readonly #held = new Map<number, HeldNode>();
  /** Those of the main thread. */
  #heartbeats: readonly GivenHeartbeat[] = [];

  constructor(port: RepeaterPort) {
    this.#port = port;
  }

  /** @param given - what has changed; `undefined`: nothing is sent from now on */
  give(given: Given | undefined): void {
    const before = this.#state;
    if (before.name === 'unreadable') return;
    if (given === undefined) {
      this.#state = OFF;
      this.#held.clear();
      return;
    }
    const { leaseMs, sessionTimeoutMs, released, held, heartbeats } = given;
    for (const id of released) this.#held.delete(id);
    for (const node of held) this.#held.set(node.id, node);
    this.#learnVersions(held);
    const now = this.#port.now();
    const fresh = { heartbeatAt: now, writtenAt: now, doubted: NONE };
    this.#state = { ...fresh, ...before, name: 'on', times: { leaseMs, sessionTimeoutMs } };
    if (heartbeats !== undefined) this.#learnHeartbeats(heartbeats);
  }

  /** The main thread writes whole frames. To be called before they are written: leases count from this call. */
  writing(bytes: Buffer): void {
    let at = 0;
    if (!this.#isHandshakeWritten) {
      this.#isHandshakeWritten = true; // It has no xid.
      at = LENGTH_BYTES + bytes.readInt32BE(0);
    }
    for (; at < bytes.length; at += LENGTH_BYTES + bytes.readInt32BE(at)) {
      const xid = bytes.readInt32BE(at + XID_OFFSET);
      if (xid === PING_XID) this.#pings.push('main');
      else if (this.#state.name === 'on') this.#noteIfHeartbeat(bytes, at, xid);
    }
    if (this.#state.name === 'on') this.#state = { ...this.#state, writtenAt: this.#port.now() };
  }

  /** Whether a server serves the session, so that {@link beat} may have something to send. */
  get isOn(): boolean {
    return this.#state.name === 'on';
  }

  /** When {@link beat} has something to send, if the main thread sends nothing before; `Infinity` while an answer is outstanding. */
  get dueAt(): number {
    const state = this.#state;
    if (state.name !== 'on' || this.#unanswered.size > 0 || this.#pings.length > 0)
      return Number.POSITIVE_INFINITY;
    const pingAt = state.writtenAt + pingsEveryMs(state.times);
    const { value: first } = this.#repeatable().next();
    return first === undefined ? pingAt : state.heartbeatAt + repeatsEveryMs(state.times);
  }

  /** Sends what is due. @param mainTurns - whether the main thread's event loop has turned within `maxStallMs` */
  beat(mainTurns: boolean): void {
    if (!mainTurns || this.dueAt > this.#port.now()) return;
    const heartbeats = inHeartbeats(this.#repeatable(), ({ frame }) => frame.length);
    for (const nodes of heartbeats) {
      const frame = joinTransactions(nodes.map((node) => node.frame));
      const xid = this.#nextXid();
      frame.writeInt32BE(xid, XID_OFFSET);
      this.#noteSent(joinedNodes(nodes), xid);
      this.#port.write(frame);
    }
    if (heartbeats.length === 0) {
      this.#pings.push('own');
      this.#port.write(encodePing());
    }
    if (this.#state.name === 'on') this.#state = { ...this.#state, writtenAt: this.#port.now() };
  }

  /** What happens to a reply that begins with this xid. */
  handlingOf(xid: number): Handling {
    if (xid === PING_XID) return this.#pings.shift() === 'own' ? 'keep' : 'pass';
    if (!this.#unanswered.has(xid)) return 'pass';
    return isOwn(xid) ? 'keep' : 'pass-and-show';
  }

  /** A reply that wasn't only to pass. */
  show(reply: Buffer): void {
    const xid = reply.readInt32BE(0);
    const sent = this.#unanswered.get(xid);
    if (sent === undefined) return; // A ping of the thread.
    this.#unanswered.delete(xid);
    const { zxid, outcomes } = read(reply);
    const isConfirmed = outcomes !== undefined && this.#confirm(sent, outcomes);
    if (this.#state.name === 'on') {
      const { doubted } = this.#state;
      const ids = sent.nodes.map(({ id }) => id);
      // A heartbeat of the thread clears no doubt: the main thread has to find out what was wrong.
      if (!isConfirmed) this.#state = { ...this.#state, doubted: new Set([...doubted, ...ids]) };
      else if (!isOwn(xid)) this.#state = { ...this.#state, doubted: without(doubted, ids) };
    }
    if (!isOwn(xid)) this.#port.answered(this.#port.now() - sent.sentAt);
    else this.#port.repeated({ zxid, versions: versionsIn(outcomes ?? [], sent.nodes) });
  }

  /** The peer sends no frames: no reply can be told from another. */
  unreadable(): void {
    this.#state = { name: 'unreadable' };
    this.#unanswered.clear();
    this.#pings.length = 0;
  }

  /** The nodes whose heartbeats may be repeated now. */
  *#repeatable(): Generator<HeldNode, undefined> {
    if (this.#state.name !== 'on') return;
    const { doubted } = this.#state;
    for (const node of this.#held.values()) if (!doubted.has(node.id)) yield node;
  }

  #noteIfHeartbeat(bytes: Buffer, at: number, xid: number): void {
    if (this.#state.name !== 'on') return;
    const heartbeat = this.#heartbeats.find(({ frame }) => isSame(bytes, at, frame));
    if (heartbeat !== undefined) this.#noteSent(heartbeat.nodes, xid);
  }

  /** Reads the clocks, so it comes before the write. */
  #noteSent(nodes: readonly GivenNode[], xid: number): void {
    if (this.#state.name !== 'on') return;
    const instant = this.#port.instant();
    const sentAt = this.#port.now();
    this.#unanswered.set(xid, { nodes, sentAt, instant });
    this.#state = { ...this.#state, heartbeatAt: sentAt };
  }

  #nextXid(): number {
    const xid = this.#xid;
    this.#xid = xid === LAST_THREAD_XID ? FIRST_THREAD_XID : xid + 1;
    return xid;
  }

  /** All else is forgotten of nodes that aren't held, and that the main thread no longer proves. */
  #learnHeartbeats(heartbeats: readonly GivenHeartbeat[]): void {
    this.#heartbeats = heartbeats;
    const proven = heartbeats.flatMap(({ nodes }) => nodes);
    this.#learnVersions(proven);
    const ids = new Set([...this.#held.keys(), ...proven.map(({ id }) => id)]);
    for (const id of this.#versions.keys()) if (!ids.has(id)) this.#versions.delete(id);
    if (this.#state.name !== 'on') return;
    const { doubted } = this.#state;
    this.#state = { ...this.#state, doubted: new Set([...doubted].filter((id) => ids.has(id))) };
  }

  #learnVersions(nodes: readonly GivenNode[]): void {
    for (const { id, version } of nodes)
      this.#versions.set(id, Math.max(version, this.#versions.get(id) ?? version));
  }

  /** Extends the leases of the nodes that the outcomes prove. Whether they prove all of them. */
  #confirm({ nodes, instant }: Sent, outcomes: readonly PartOutcome[]): boolean {
    let areAll = true;
    for (const node of nodes) {
      if (!this.#hasRisen(node, outcomes)) areAll = false;
      else if (instant !== undefined)
        for (const lease of this.#held.get(node.id)?.memory ?? []) this.#port.proved(lease, instant);
    }
    return areAll;
  }

  /** Whether the node's version is above all that were seen. In a restored backup it isn't. */
  #hasRisen({ id, raisedBy, version: givenVersion }: GivenNode, outcomes: readonly PartOutcome[]): boolean {
    if (raisedBy === undefined) return true;
    const version = versionOf(outcomes[raisedBy]);
    if (version === undefined || version <= (this.#versions.get(id) ?? givenVersion)) return false;
    this.#versions.set(id, version);
    return true;
  }
}

function versionOf(outcome: PartOutcome | undefined): number | undefined {
  return outcome !== undefined && 'stat' in outcome ? outcome.stat?.version : undefined;
}

function versionsIn(outcomes: readonly PartOutcome[], nodes: readonly GivenNode[]): RepeatAnswer['versions'] {
  return nodes.flatMap(({ id, raisedBy }) => {
    const version = raisedBy === undefined ? undefined : versionOf(outcomes[raisedBy]);
    return version === undefined ? [] : [{ id, version }];
  });
}

function without(ids: ReadonlySet<number>, others: readonly number[]): ReadonlySet<number> {
  const left = new Set(ids);
  for (const id of others) left.delete(id);
  return left;
}

/** The nodes of a heartbeat in which those of these nodes are joined. */
function joinedNodes(held: readonly HeldNode[]): GivenNode[] {
  let before = 0;
  return held.map(({ id, raisedBy, version, parts }) => {
    const at = before;
    before += parts;
    return { id, raisedBy: raisedBy === undefined ? undefined : at + raisedBy, version };
  });
}

function isOwn(xid: number): boolean {
  return xid >= FIRST_THREAD_XID;
}

/** Whether the frame at that place is the heartbeat, whatever its xid. */
function isSame(bytes: Buffer, at: number, frame: Uint8Array): boolean {
  if (LENGTH_BYTES + bytes.readInt32BE(at) !== frame.length) return false;
  return bytes.compare(frame, BEHIND_XID, frame.length, at + BEHIND_XID, at + frame.length) === 0;
}

/** The outcomes of a heartbeat's parts; `undefined` unless the servers have committed all of them. */
function read(reply: Buffer): {
  readonly zxid: bigint;
  readonly outcomes: readonly PartOutcome[] | undefined;
} {
  try {
    const { zxid, errorCode, body } = decodeReply(reply);
    const outcomes = errorCode === 0 ? readOutcomes(new WireReader(body)) : [{ errorCode }];
    return { zxid, outcomes: outcomes.some((outcome) => 'errorCode' in outcome) ? undefined : outcomes };
  } catch {
    return { zxid: 0n, outcomes: undefined }; // If it is the answer to the main thread, that ends the connection.
  }
}

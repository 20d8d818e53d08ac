import { NoNodeError, type ZooKeeperError } from '../../errors.js';
import type { LeaseInstant } from '../../platform/time/clock.js';
import type { Reply } from '../connection/reply.js';
import type { GivenHeartbeat, HeldNode } from '../connection-thread/heartbeat-repeater.js';
import { inHeartbeats } from '../protocol/frame-layout.js';
import type { PartResult, TransactionPart } from '../protocol/multi-and-stats.js';
import { heartbeatRequest, type Request, TransactionError } from '../protocol/requests.js';

/** A node that heartbeats prove. */
export interface ProvenNode {
  /** The absolute path, with the chroot. */
  readonly absolutePath: string;
  /** The version that its heartbeats raise; `undefined` if they only check that the node exists. */
  readonly raised?: RaisedVersion | undefined;
  /**
   * The record of the term that is led by the node, at the version with which the term began. Each heartbeat checks it, so the servers
   * refuse the heartbeats of a term that isn't the record's any more. `undefined` if nothing is led.
   */
  readonly record?: RecordVersion | undefined;
  /**
   * Memory with the lease of the node, for the thread that holds the session's connection. While there is some, something is held by the node,
   * and that thread may repeat its heartbeats.
   */
  readonly extendedByThread?: readonly SharedArrayBuffer[];
  /** The servers have committed a heartbeat for the node that was sent at `sentAt`. */
  confirmed(sentAt: LeaseInstant): void;
  gone(): void;
  /** A server has granted the session a shorter lease, from which each lease counts from now on. */
  leaseShortened?(): void;
  /** The record has another version, is gone, or can't be read. The term of the node is over, and the node is removed. */
  recordLost?(error: ZooKeeperError): void;
  /** The node's access list no longer lets the session read it, so no heartbeat can confirm it. */
  unreadable(error: Error): void;
}

/** A record at one of its versions. */
export interface RecordVersion {
  readonly path: string;
  /** With the chroot. */
  readonly absolutePath: string;
  readonly version: number;
}

/** The version of a node beside a proven node. Each heartbeat raises it, and other sessions read it. */
export interface RaisedVersion {
  /** The newest version that an answer has shown. */
  readonly version: number;
  /** The write that raises the version. @param byThread - leaves the mark of a heartbeat that another thread sends in a stall */
  absoluteRaise(byThread: boolean): TransactionPart;
  /** The servers have carried that write out. @returns whether a lease begins with it */
  written(result: PartResult, zxid: bigint): boolean;
  /** The same, of a write by the thread that holds the connection. It says what the version was. */
  shown(version: number, zxid: bigint): void;
  /** The servers refused that write, and with it the heartbeat. The node is of no use any more, and is removed. */
  refused(error: ZooKeeperError): void;
}

const BYTES_BESIDE_PATH = 100; // The rest of a part: its kind, its length, and the version.

/** A part of a heartbeat, the node that it proves, and the node that the part is about: that one, its heartbeat node or its record. */
interface OwnedPart {
  readonly node: ProvenNode;
  readonly about: 'node' | 'raised' | 'record';
  readonly part: TransactionPart;
}

/** The nodes that one request proves. The request is made once and sent again and again. */
export class HeartbeatBatch {
  readonly nodes: readonly ProvenNode[];
  readonly request: Request<readonly PartResult[]>;
  readonly #parts: readonly OwnedPart[];

  static of(nodes: readonly ProvenNode[]): HeartbeatBatch[] {
    const parts = nodes.map((node) => partsOf(node, false));
    return inHeartbeats(parts, bytesOf).map((batch) => new HeartbeatBatch(batch.flat()));
  }

  private constructor(parts: readonly OwnedPart[]) {
    this.#parts = parts;
    this.nodes = parts.filter(({ about }) => about === 'node').map(({ node }) => node);
    this.request = heartbeatRequest(parts.map(({ part }) => part));
  }

  /** The same heartbeat, so that the thread that holds the connection knows it. */
  given(idOf: (node: ProvenNode) => number): GivenHeartbeat {
    const nodes = this.#parts.flatMap(({ node, about }, at) =>
      about !== 'node'
        ? []
        : { id: idOf(node), raisedBy: raisedBy(node, at), version: node.raised?.version ?? 0 },
    );
    return { frame: givenFrame(this.request), nodes };
  }

  /** The servers have committed the request. @param isMember - whether heartbeats are still sent for the node */
  confirmed(
    { value: results, sentAt, zxid }: Reply<readonly PartResult[]>,
    isMember: (node: ProvenNode) => boolean,
  ) {
    const unseen = new Set<ProvenNode>();
    for (const [at, { node, about }] of this.#parts.entries()) {
      if (about !== 'raised' || !isMember(node)) continue;
      if (node.raised?.written(results[at] as PartResult, zxid) === false) unseen.add(node);
    }
    for (const node of this.nodes) if (isMember(node) && !unseen.has(node)) node.confirmed(sentAt);
  }

  /** The servers have refused the request because of one node. @throws any other error; then the connection may be of no use */
  refused(error: unknown, remove: (node: ProvenNode) => void): void {
    const at = error instanceof TransactionError ? this.#parts[error.failedPart] : undefined;
    if (!(error instanceof TransactionError) || at === undefined) throw error;
    const { node, about } = at;
    const cause = error.error;
    if (about !== 'node') {
      remove(node);
      return about === 'raised' ? node.raised?.refused(cause) : node.recordLost?.(cause);
    }
    if (!(cause instanceof NoNodeError || cause.code === 'NO_AUTH')) throw error;
    remove(node);
    if (cause instanceof NoNodeError) node.gone();
    else node.unreadable(cause);
  }
}

/** The part of a heartbeat by which the thread that holds the connection proves the node in a stall. */
export function heldNode(node: ProvenNode, id: number): HeldNode {
  const parts = partsOf(node, true);
  const version = node.raised?.version ?? 0;
  const frame = givenFrame(heartbeatRequest(parts.map(({ part }) => part)));
  const memory = node.extendedByThread ?? [];
  return { id, raisedBy: raisedBy(node, 0), version, frame, parts: parts.length, memory };
}

/** @param at - the place of the check of the node */
function raisedBy({ raised }: ProvenNode, at: number): number | undefined {
  return raised === undefined ? undefined : at + 1;
}

/** In memory of its own, because a small buffer shares its memory with others, and all of it would be sent. */
function givenFrame(request: Request<unknown>): Uint8Array {
  return new Uint8Array(request.encode(0));
}

/**
 * The check of the node comes first, so that a node that is gone is found to be gone, whatever the state of the other two. A candidate that
 * takes over deletes the leader's node and writes the record with one write.
 */
function partsOf(node: ProvenNode, byThread: boolean): OwnedPart[] {
  const { raised, record } = node;
  const parts: OwnedPart[] = [{ node, about: 'node', part: { kind: 'check', path: node.absolutePath } }];
  if (raised !== undefined) parts.push({ node, about: 'raised', part: raised.absoluteRaise(byThread) });
  if (record !== undefined) {
    const { absolutePath: path, version } = record;
    parts.push({ node, about: 'record', part: { kind: 'check', path, version } });
  }
  return parts;
}

/** An upper bound of the bytes that are sent for these parts. */
function bytesOf(parts: readonly OwnedPart[]): number {
  return parts.reduce((sum, { part }) => sum + Buffer.byteLength(part.path) + BYTES_BESIDE_PATH, 0);
}

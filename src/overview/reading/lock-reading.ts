import { parseLockEntry, type QueueEntry, queueOf } from '../../queue/names-and-order.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import { hasSession, type NodeData } from '../../session/protocol/multi-and-stats.js';
import type { LockKind } from '../model/lock-view.js';
import type { NodeKind } from '../model/node-kind.js';
import { LIMITS } from '../model/read-limits.js';
import type { Reading } from './reader-resources.js';

/** The nodes of a queue's contenders. Each is read once, when a listing shows it for the first time. */
export class QueueContents {
  readonly #reading: Reading;
  readonly #path: string;
  /** By name. `undefined` if the session may not read it. */
  readonly #nodes = new Map<string, NodeData | undefined>();

  constructor(reading: Reading, path: string) {
    this.#reading = reading;
    this.#path = path;
  }

  get(node: string): NodeData | undefined {
    return this.#nodes.get(node);
  }

  /**
   * Reads the nodes that weren't read yet, and forgets those that aren't in the queue.
   * @param others - further nodes that are still of interest
   * @returns the nodes of the queue that exist, whether or not the session may read them
   * @throws the reason why the session ended, or a server's refusal
   */
  async read(queue: readonly QueueEntry[], others: readonly string[] = []): Promise<QueueEntry[]> {
    const listed = new Set([...queue.map(({ node }) => node), ...others]);
    for (const node of this.#nodes.keys()) if (!listed.has(node)) this.#nodes.delete(node);
    const missing = queue.filter(({ node }) => !this.#nodes.has(node));
    await Promise.all(missing.map(({ node }) => this.again(node)));
    return queue.filter(({ node }) => this.#nodes.has(node));
  }

  /** Reads a node that may have changed. */
  async again(node: string): Promise<void> {
    try {
      const found = await this.#reading.read(`${this.#path}/${node}`);
      if (found !== undefined) this.#nodes.set(node, found);
    } catch (error) {
      if (!isNoAuth(error)) throw error;
      this.#nodes.set(node, undefined);
    }
  }
}

/** Reads the queue of a lock of any kind, after each listing of it. */
export class LockReading {
  readonly name: LockKind['name'];
  readonly #reading: Reading;
  readonly #path: string;
  readonly #contents: QueueContents;
  #newest = 0n;
  #done: () => void;
  #hasStopped = false;

  constructor(reading: Reading, path: string, name: LockKind['name']) {
    this.name = name;
    this.#reading = reading;
    this.#path = path;
    this.#contents = new QueueContents(reading, path);
    this.#done = reading.begin();
  }

  listed(kind: NodeKind, _node: NodeData, names: readonly string[], zxid: bigint): void {
    this.#newest = zxid;
    if ('capacity' in kind) void this.#read(kind, names, zxid); // Never rejects.
  }

  stop(): void {
    this.#hasStopped = true;
    this.#reading.limit(`${this.#path} queue`, undefined);
    this.#done();
  }

  async #read(kind: LockKind, names: readonly string[], zxid: bigint): Promise<void> {
    const { listener, serverClock } = this.#reading;
    try {
      const all = queueOf(names, parseLockEntry);
      const isLong = all.length > LIMITS.queue;
      const sentence = `${this.#path}: of ${all.length} contenders the first ${LIMITS.queue} are shown`;
      this.#reading.limit(`${this.#path} queue`, isLong ? sentence : undefined);
      const queue = await this.#contents.read(all.slice(0, LIMITS.queue));
      if (this.#hasStopped || zxid !== this.#newest) return;
      const contenders = queue.flatMap((entry) => {
        const node = this.#contents.get(entry.node);
        if (node === undefined || !hasSession(node.stat)) return []; // Such a node blocks no contender of Conclave.
        return [{ entry, data: node.data, at: serverClock.toLocal(node.stat.createdAtMs) }];
      });
      listener.lock(this.#path, kind, contenders);
    } catch (error) {
      if (!this.#hasStopped) this.#reading.refused(this.#path, error);
    }
    this.#done();
  }
}

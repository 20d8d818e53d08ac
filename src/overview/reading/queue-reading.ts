import { parseLockEntry, type QueueEntry, queueOf } from '../../queue/names-and-order.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import { hasSession, type NodeData } from '../../session/protocol/multi-and-stats.js';
import type { LockKind } from '../model/lock-view.js';
import type { NodeKind } from '../model/node-kind.js';
import { LIMITS } from '../model/read-limits.js';
import type { Reading } from './reader-resources.js';

/** Reads the queue of an election or a lock after each listing of it. Each contender's node is read once, when a listing first shows it. */
export abstract class QueueReading {
  protected readonly reading: Reading;
  protected readonly path: string;
  protected hasStopped = false;
  protected readonly done: () => void;
  readonly #contenders: 'candidates' | 'contenders';
  /** By name. `undefined` if the session may not read it. */
  readonly #nodes = new Map<string, NodeData | undefined>();
  #newest = 0n;

  constructor(reading: Reading, path: string, contenders: 'candidates' | 'contenders') {
    this.reading = reading;
    this.path = path;
    this.#contenders = contenders;
    this.done = reading.begin();
  }

  stop(): void {
    this.hasStopped = true;
    this.reading.limit(`${this.path} queue`, undefined);
    this.done();
  }

  /** A node of the queue, if the session may read it. */
  protected node(name: string): NodeData | undefined {
    return this.#nodes.get(name);
  }

  /**
   * Reads the nodes that weren't read yet, and forgets those that aren't in the queue.
   * @param zxid - of the listing
   * @param others - further nodes that are still of interest
   * @returns the nodes of the queue that exist, whether or not the session may read them; `undefined` if there is a newer listing meanwhile
   * @throws the reason why the session ended, or a server's refusal
   */
  protected async readQueue(
    all: readonly QueueEntry[],
    zxid: bigint,
    others: readonly string[] = [],
  ): Promise<QueueEntry[] | undefined> {
    this.#newest = zxid;
    const sentence = `${this.path}: of ${all.length} ${this.#contenders} the first ${LIMITS.queue} are shown`;
    this.reading.limit(`${this.path} queue`, all.length > LIMITS.queue ? sentence : undefined);
    const queue = all.slice(0, LIMITS.queue);
    const listed = new Set([...queue.map(({ node }) => node), ...others]);
    for (const node of this.#nodes.keys()) if (!listed.has(node)) this.#nodes.delete(node);
    const missing = queue.filter(({ node }) => !this.#nodes.has(node));
    await Promise.all(missing.map(({ node }) => this.readAgain(node)));
    if (this.hasStopped || zxid !== this.#newest) return undefined;
    return queue.filter(({ node }) => this.#nodes.has(node));
  }

  /** Reads a node that may have changed. */
  protected async readAgain(node: string): Promise<void> {
    try {
      const found = await this.reading.read(`${this.path}/${node}`);
      if (found !== undefined) this.#nodes.set(node, found);
    } catch (error) {
      if (!isNoAuth(error)) throw error;
      this.#nodes.set(node, undefined);
    }
  }

  protected failed(error: unknown): void {
    if (!this.hasStopped) this.reading.refused(this.path, error);
    this.done();
  }
}

/** Reads the queue of a lock of any kind. */
export class LockReading extends QueueReading {
  constructor(reading: Reading, path: string) {
    super(reading, path, 'contenders');
  }

  listed(kind: NodeKind, _node: NodeData, names: readonly string[], zxid: bigint): void {
    if ('capacity' in kind) void this.#read(kind, names, zxid); // Never rejects.
  }

  async #read(kind: LockKind, names: readonly string[], zxid: bigint): Promise<void> {
    const { model, serverClock } = this.reading;
    try {
      const queue = await this.readQueue(queueOf(names, parseLockEntry), zxid);
      if (queue === undefined) return;
      const contenders = queue.flatMap((entry) => {
        const node = this.node(entry.node);
        if (node === undefined || !hasSession(node.stat)) return []; // Such a node blocks no contender of Conclave.
        return [{ entry, data: node.data, at: serverClock.toLocal(node.stat.createdAtMs) }];
      });
      model.lock(this.path, kind, contenders);
      this.done();
    } catch (error) {
      this.failed(error);
    }
  }
}

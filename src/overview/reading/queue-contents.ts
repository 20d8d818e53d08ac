import type { QueueEntry } from '../../queue/names-and-order.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Reading } from './shared-context.js';

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

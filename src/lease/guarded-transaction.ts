import { InvalidStateError, NodeLostError } from '../errors.js';
import type { RecordVersion } from '../session/keep-alive/heartbeat-batch.js';
import type { TransactionPart } from '../session/protocol/multi-and-stats.js';
import { checkOf, isOfAnotherTerm } from './node-with-heartbeat.js';
import type { OwnNode } from './own-node.js';

/**
 * Writes in ZooKeeper that the servers carry out together, and only while the node of the term or lock exists. That is fencing
 * without a token: ZooKeeper itself refuses a holder that has been replaced.
 *
 * If you give a part a `version` and its node has another version, the servers refuse the whole transaction.
 */
export interface GuardedTransaction {
  /** Adds a part that creates a persistent node. @param data - no data by default @throws InvalidStateError after {@link commit} */
  create(path: string, data?: string | Uint8Array): this;
  /**
   * Adds a part that writes the data of a node. @param version - the version that the node must have; any by default @throws
   * InvalidStateError after {@link commit}
   */
  setData(path: string, data: string | Uint8Array, version?: number): this;
  /**
   * Adds a part that deletes a node. @param version - the version that the node must have; any by default @throws
   * InvalidStateError after {@link commit}
   */
  remove(path: string, version?: number): this;
  /**
   * Sends the transaction, once. Waits for a connection if there is none. Resolves when the servers have carried it out.
   *
   * @throws TermEndedError (of a term) or LockLostError (of a lock) if the holder's node is gone; nothing is written
   * @throws ZooKeeperError, with the path of the part, if the servers refuse a part; nothing is written
   * @throws ConnectionLossError, OperationTimeoutError, SessionExpiredError or SessionClosedError if the transaction was sent and
   *   not answered; the servers may have carried it out
   * @throws InvalidOptionError if a path, data or a version can't be sent, or if all parts together take more than 1,048,575 bytes, which is
   *   what servers take
   * @throws InvalidStateError if `commit` was called before
   */
  commit(): Promise<void>;
}

/** A transaction guarded by a holder's node, or by those of several holders in one session, and by the record of a term if there is one. */
export class HolderTransaction implements GuardedTransaction {
  readonly #nodes: readonly [OwnNode, ...OwnNode[]];
  readonly #ended: () => Error;
  readonly #record: RecordVersion | undefined;
  readonly #parts: TransactionPart[] = [];
  #committed = false;

  /**
   * @param ended - ends the hold and makes the error to throw when a node is gone, or the record has another version
   * @param record - of a term: the servers refuse the transaction unless the record is at this version
   */
  constructor(nodes: readonly [OwnNode, ...OwnNode[]], ended: () => Error, record?: RecordVersion) {
    this.#nodes = nodes;
    this.#ended = ended;
    this.#record = record;
  }

  create(path: string, data: string | Uint8Array = ''): this {
    return this.#add({ kind: 'create', path, data: toBytes(data) });
  }

  setData(path: string, data: string | Uint8Array, version?: number): this {
    return this.#add({ kind: 'set', path, data: toBytes(data), ...(version !== undefined && { version }) });
  }

  remove(path: string, version?: number): this {
    return this.#add({ kind: 'delete', path, ...(version !== undefined && { version }) });
  }

  async commit(): Promise<void> {
    if (this.#committed)
      throw new InvalidStateError('the transaction was already committed: create a new one');
    this.#committed = true;
    // It isn't sent, so it is certain that nothing was written.
    if (this.#nodes.some(({ isGone }) => isGone)) throw this.#ended();
    const [node, ...others] = this.#nodes;
    const checks = this.#record === undefined ? [] : [checkOf(this.#record)];
    try {
      await node.commit([...checks, ...this.#parts], others);
    } catch (error) {
      throw error instanceof NodeLostError || isOfAnotherTerm(error, this.#record) ? this.#ended() : error;
    }
  }

  #add(part: TransactionPart): this {
    if (this.#committed)
      throw new InvalidStateError('the transaction was already committed: create a new one');
    this.#parts.push(part);
    return this;
  }
}

/** A value of any other type is refused when the transaction is committed. */
function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data) : data;
}

import { BadVersionError, InvalidStateError, NodeLostError, NoNodeError } from '../errors.js';
import type { TransactionPart } from '../session/protocol/records.js';
import type { EphemeralNode } from './ephemeral-node.js';

/**
 * Writes in ZooKeeper that are carried out together, and only while the node of their term or lock exists: fencing
 * without a token, since ZooKeeper itself refuses a holder that has been replaced.
 *
 * A part with a `version` is carried out only if its node is at that version; else the whole transaction is refused.
 */
export interface GuardedTransaction {
  /** Adds: create a persistent node. @param data - none by default */
  create(path: string, data?: string | Uint8Array): this;
  /** Adds: write the data of a node. @param version - the one that the node has to be at; any by default */
  setData(path: string, data: string | Uint8Array, version?: number): this;
  /** Adds: delete a node. @param version - the one that the node has to be at; any by default */
  remove(path: string, version?: number): this;
  /**
   * Carries the transaction out, once. Waits for a connection if there is none.
   *
   * @throws TermEndedError (of a term) or LockLostError (of a lock) if its node is gone: nothing is written
   * @throws ZooKeeperError if a part is refused, with its path: nothing is written
   * @throws ConnectionLossError, OperationTimeoutError, SessionExpiredError or SessionClosedError if it was sent and
   *   not answered: it may have been carried out
   * @throws InvalidOptionError if a path, data or a version can't be sent
   * @throws InvalidStateError if it was committed before
   */
  commit(): Promise<void>;
}

/** A node that has to be at that version for a transaction to be carried out. */
export interface Fence {
  readonly path: string;
  /** With the chroot. */
  readonly absolutePath: string;
  readonly version: number;
}

/** A transaction guarded by a holder's node, or by those of several holders in one session. */
export class HolderTransaction implements GuardedTransaction {
  readonly #nodes: readonly [EphemeralNode, ...EphemeralNode[]];
  readonly #ended: () => Error;
  readonly #fence: Fence | undefined;
  readonly #parts: TransactionPart[] = [];
  #committed = false;

  /**
   * @param ended - makes the error to throw when a node is gone, after its hold has ended
   * @param fence - a node that has to be at that version, too
   */
  constructor(nodes: readonly [EphemeralNode, ...EphemeralNode[]], ended: () => Error, fence?: Fence) {
    this.#nodes = nodes;
    this.#ended = ended;
    this.#fence = fence;
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
    if (this.#committed) throw new InvalidStateError('the transaction was committed before: make a new one');
    this.#committed = true;
    // Refused without being sent: so it is certain that nothing was written.
    if (this.#nodes.some(({ isGone }) => isGone)) throw this.#ended();
    const [node, ...others] = this.#nodes;
    const fence: TransactionPart[] = this.#fence === undefined ? [] : [{ kind: 'check', ...this.#fence }];
    try {
      await node.commit([...fence, ...this.#parts], others);
    } catch (error) {
      throw error instanceof NodeLostError || this.#isFenced(error) ? this.#ended() : error;
    }
  }

  #isFenced(error: unknown): boolean {
    if (!(error instanceof BadVersionError || error instanceof NoNodeError)) return false;
    return error.operation === 'multi[check]' && error.path === this.#fence?.absolutePath;
  }

  #add(part: TransactionPart): this {
    if (this.#committed) throw new InvalidStateError('the transaction was committed before: make a new one');
    this.#parts.push(part);
    return this;
  }
}

/** A value of any other type is refused when the transaction is sent. */
function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data) : data;
}

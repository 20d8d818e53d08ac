import { InvalidStateError, NodeLostError } from '../errors.js';
import type { TransactionPart } from '../session/protocol/records.js';
import type { EphemeralNode } from './ephemeral-node.js';

/**
 * Writes in ZooKeeper that are carried out together, and only while the node of the term or lock that they are made for
 * exists: fencing without a token, since ZooKeeper itself refuses a holder that has been replaced.
 *
 * A part with a `version` is carried out only if the node is at that version; else all of it is refused.
 */
export interface GuardedTransaction {
  create(path: string, data?: string | Uint8Array): this;
  setData(path: string, data: string | Uint8Array, version?: number): this;
  remove(path: string, version?: number): this;
  /**
   * Carries it out, once. Waits for a connection if there is none.
   *
   * @throws TermEndedError (of a term) or LockLostError (of a lock) if its node isn't there any more: nothing is written
   * @throws ZooKeeperError if a part is refused, with its path: nothing is written
   * @throws ConnectionLossError, OperationTimeoutError, SessionExpiredError or SessionClosedError if it was sent and not
   *   answered: it may have been carried out
   * @throws InvalidOptionError if a path, data or a version can't be sent
   * @throws InvalidStateError if it was committed before
   */
  commit(): Promise<void>;
}

/** A transaction guarded by a contender's own node, or by those of several contenders of one session. */
export class HolderTransaction implements GuardedTransaction {
  readonly #own: EphemeralNode;
  readonly #beside: readonly EphemeralNode[];
  readonly #ended: () => Error;
  readonly #parts: TransactionPart[] = [];
  #committed = false;

  /** @param ended - what to say when the node is gone; called when its loss has been noted */
  constructor([own, ...beside]: readonly [EphemeralNode, ...EphemeralNode[]], ended: () => Error) {
    this.#own = own;
    this.#beside = beside;
    this.#ended = ended;
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
    // Not sent at all: that is sure to have written nothing.
    if ([this.#own, ...this.#beside].some(({ isGone }) => isGone)) throw this.#ended();
    try {
      await this.#own.commit(this.#parts, this.#beside);
    } catch (error) {
      throw error instanceof NodeLostError ? this.#ended() : error;
    }
  }

  #add(part: TransactionPart): this {
    if (this.#committed) throw new InvalidStateError('the transaction was committed before: make a new one');
    this.#parts.push(part);
    return this;
  }
}

/** What is neither is refused when the transaction is sent. */
function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data) : data;
}

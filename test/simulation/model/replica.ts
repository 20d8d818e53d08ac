import { ERROR_CODES, ErrorReply } from '../../../src/testing/protocol/op-codes.js';
import type { Body } from '../../../src/testing/protocol/replies.js';
import type { WriteOperation } from '../../../src/testing/protocol/requests.js';
import { OPEN_ACL } from '../../../src/testing/state/acl.js';
import {
  type Author,
  applyMulti,
  applyWrite,
  multiBody,
  writeBody,
} from '../../../src/testing/state/apply-writes.js';
import { TRAITS } from '../../../src/testing/state/dialects.js';
import { type TreeChange, WatchTable } from '../../../src/testing/state/watch-table.js';
import { parentOf, ZnodeTree } from '../../../src/testing/state/znode-tree.js';
import type { Transaction } from './transaction.js';

/** The outcome of a transaction that a server has applied. */
export interface Outcome {
  readonly code: number;
  readonly body?: Body | undefined;
}

/** Called with each change that a server has applied. */
export type OnApplied = (replica: Replica, change: TreeChange) => void;

const IDENTITIES = [{ scheme: 'ip', id: '10.0.0.9' }] as const;
const DONE: Outcome = { code: ERROR_CODES.OK };

/**
 * The state of one server: the transactions of the log up to some point, applied in their order. Each server applies them
 * for itself. The effect of a transaction depends only on those before it, so all servers come to the same state.
 */
export class Replica {
  readonly tree = new ZnodeTree();
  readonly traits = TRAITS['3.8'];
  readonly watches = new WatchTable(this.traits);
  /** The timeouts of the sessions that live. */
  readonly sessions = new Map<bigint, number>();
  readonly #onApplied: OnApplied;
  #zxid = 0n;

  constructor(onApplied: OnApplied) {
    this.#onApplied = onApplied;
  }

  /** The newest transaction that was applied. */
  get zxid(): bigint {
    return this.#zxid;
  }

  /** @param isAnswered - whether a client of this server waits for the outcome. If not, a transaction that changes nothing is skipped */
  apply(transaction: Transaction, isAnswered: boolean): Outcome {
    this.#zxid = transaction.zxid;
    switch (transaction.kind) {
      case 'open-session':
        this.sessions.set(transaction.sessionId, transaction.timeoutMs);
        return DONE;
      case 'close-session':
        this.#closeSession(transaction);
        return DONE;
      case 'refused':
        return { code: transaction.code };
      case 'write':
        if (!isAnswered && changesNothing(transaction.operation)) return DONE;
        return this.#write(transaction.operation, {
          sessionId: transaction.sessionId,
          identities: IDENTITIES,
          stamp: transaction,
        });
    }
  }

  #closeSession({ sessionId, zxid, timeMs }: Transaction & { kind: 'close-session' }): void {
    for (const path of [...this.tree.ephemeralsOf(sessionId)]) {
      const acl = this.tree.get(path)?.acl ?? OPEN_ACL;
      const parentAcl = this.tree.get(parentOf(path))?.acl ?? OPEN_ACL;
      this.tree.delete(path, { zxid, timeMs });
      this.#announce({ kind: 'deleted', path, acl, parentAcl });
    }
    this.sessions.delete(sessionId);
  }

  #announce(change: TreeChange): void {
    this.#onApplied(this, change);
    this.watches.trigger(change);
  }

  #write(operation: WriteOperation, author: Author): Outcome {
    try {
      return { code: ERROR_CODES.OK, body: this.#carryOut(operation, author) };
    } catch (error) {
      if (error instanceof ErrorReply) return { code: error.code };
      throw error;
    }
  }

  #carryOut(operation: WriteOperation, author: Author): Body | undefined {
    switch (operation.kind) {
      case 'multi': {
        const outcome = applyMulti(this.tree, operation.parts, author);
        if (outcome.kind === 'committed')
          for (const { change } of outcome.parts) if (change !== undefined) this.#announce(change);
        return multiBody(outcome);
      }
      case 'reconfig':
      case 'deleteContainer':
        throw new Error(`no client sends ${operation.kind}`);
      case 'create':
      case 'delete':
      case 'setData':
      case 'setACL':
      case 'check': {
        const { result, change } = applyWrite(this.tree, operation, author);
        if (change !== undefined) this.#announce(change);
        return writeBody(result);
      }
    }
  }
}

/** As a heartbeat, which only checks. */
function changesNothing(operation: WriteOperation): boolean {
  return operation.kind === 'multi' && operation.parts.every(({ kind }) => kind === 'check');
}

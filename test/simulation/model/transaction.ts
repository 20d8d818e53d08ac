import type { WriteOperation } from '../../../src/testing/protocol/requests.js';
import type { ServerConnection } from './connection.js';

/** The origin of a transaction, and the request to answer when it has been applied there. */
export interface Origin {
  /** The server's number. */
  readonly server: number;
  readonly connection: ServerConnection;
}

/** One entry of the ensemble's log. A refused write is one too, as in ZooKeeper. */
export type Transaction = {
  readonly zxid: bigint;
  readonly timeMs: number;
  readonly origin: Origin | undefined;
} & (
  | { readonly kind: 'open-session'; readonly sessionId: bigint; readonly timeoutMs: number }
  | { readonly kind: 'close-session'; readonly sessionId: bigint }
  | { readonly kind: 'write'; readonly sessionId: bigint; readonly operation: WriteOperation }
  | { readonly kind: 'refused'; readonly sessionId: bigint; readonly code: number }
);

const COUNTER_BITS = 32n;

export function epochOf(zxid: bigint): number {
  return Number(zxid >> COUNTER_BITS);
}

/** The epoch is in the upper half, a counter in the lower one. So a new leader's transactions come after all earlier ones. */
export function firstZxid(epoch: number): bigint {
  return BigInt(epoch) << COUNTER_BITS;
}

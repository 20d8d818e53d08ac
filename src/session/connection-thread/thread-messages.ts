import type { Endpoint, TlsOptions } from '../connection/tcp-and-tls.js';
import type { Given, RepeatAnswer } from './heartbeat-repeater.js';

/** How a connection is opened, and what its session allows the thread. */
export interface Opening {
  readonly endpoint: Endpoint;
  /** `undefined` for plain TCP. */
  readonly tls: TlsOptions | undefined;
  readonly maxStallMs: number;
  /** See {@link ShownTurns}. */
  readonly turns: SharedArrayBuffer;
}

/** From the main thread, in this order for each connection. `id` is the connection's number. */
export type ToThread =
  | (Opening & { readonly kind: 'open'; readonly id: number })
  /** Whole frames. */
  | { readonly kind: 'write'; readonly id: number; readonly bytes: Uint8Array }
  /** What the thread may send from now on; nothing, if it is `undefined`. */
  | { readonly kind: 'give'; readonly id: number; readonly given: Given | undefined }
  | { readonly kind: 'destroy'; readonly id: number }
  /** The thread answers with `here`. */
  | { readonly kind: 'ask' };

/** From the thread, in the order in which it happened. */
export type FromThread =
  /** The handshake may be written. */
  | { readonly kind: 'connected'; readonly id: number }
  | { readonly kind: 'data'; readonly id: number; readonly bytes: Uint8Array }
  /** A heartbeat of the main thread was answered after `tookMs`. Its reply follows as `data`. */
  | { readonly kind: 'answered'; readonly id: number; readonly tookMs: number }
  /** A heartbeat of the thread was answered. */
  | { readonly kind: 'repeated'; readonly id: number; readonly answer: RepeatAnswer }
  | { readonly kind: 'failed'; readonly id: number; readonly error: SentError }
  /** The last one of a connection. */
  | { readonly kind: 'closed'; readonly id: number }
  /** The thread has begun, or was asked. */
  | { readonly kind: 'here' };

/** An error on its way to the other thread. A clone would lose its code. */
export interface SentError {
  readonly message: string;
  readonly code: string | undefined;
}

export function toSent(error: unknown): SentError {
  const { message, code } = error as NodeJS.ErrnoException;
  return { message, code };
}

export function fromSent({ message, code }: SentError): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

import type { LeaseInstant } from '../../platform/time/clock.js';

/** A server's answer to a request. */
export interface Reply<T> {
  /** The result in the server's answer. */
  readonly value: T;
  /** For a write, its own transaction. Otherwise the newest transaction that the server knew. */
  readonly zxid: bigint;
  /** When the request was about to be written to the socket: a lease may count from then. */
  readonly sentAt: LeaseInstant;
}

/** Receives the outcome of a request. It is an object and not a promise, since very many requests may be waiting. */
export interface ReplyReceiver<T> {
  resolve(reply: Reply<T>): void;
  reject(reason: unknown): void;
}

/** It is a class only for its JSON form, which has no 64-bit numbers. It is as large as an object with the same fields. */
export class ServerReply<T> implements Reply<T> {
  constructor(
    readonly value: T,
    readonly zxid: bigint,
    readonly sentAt: LeaseInstant,
  ) {}

  toJSON(): object {
    return { ...this, zxid: String(this.zxid) };
  }
}

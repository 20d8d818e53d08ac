import type { Reply } from './connection.js';

/** A class only for what JSON shows of it, which has no 64-bit numbers: it is as large as an object of the same fields. */
export class ServerReply<T> implements Reply<T> {
  constructor(
    readonly value: T,
    readonly zxid: bigint,
    readonly sentAt: number,
  ) {}

  toJSON(): object {
    return { ...this, zxid: String(this.zxid) };
  }
}

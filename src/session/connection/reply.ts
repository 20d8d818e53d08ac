/** A server's answer to a request. */
export interface Reply<T> {
  /** What the server answered. */
  readonly value: T;
  /** The newest transaction that the server knew of; for a write, its own. */
  readonly zxid: bigint;
  /** When the request was about to be written to the socket, by the session's clock. */
  readonly sentAt: number;
}

/** Receives what becomes of a request. An object instead of a promise, since very many requests may be waiting. */
export interface Outcome<T> {
  resolve(reply: Reply<T>): void;
  reject(reason: unknown): void;
}

/** A class only for its JSON form, which has no 64-bit numbers: it is as large as an object with the same fields. */
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

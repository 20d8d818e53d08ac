import { connect, type Socket } from 'node:net';

/** ZooKeeper's protocol spoken by hand, to ask a server what no well-behaved client asks. */

export const int = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value | 0);
  return bytes;
};
export const long = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
};
export const bool = (value: boolean): Buffer => Buffer.from([value ? 1 : 0]);
export const text = (value: string | Buffer | null): Buffer =>
  value === null ? int(-1) : Buffer.concat([int(Buffer.byteLength(value)), Buffer.from(value)]);
export const vector = (items: readonly Buffer[]): Buffer => Buffer.concat([int(items.length), ...items]);
export const record = (...fields: readonly Buffer[]): Buffer => Buffer.concat(fields);
export const acl = (permissions: number, scheme: string, id: string): Buffer =>
  record(int(permissions), text(scheme), text(id));
export const OPEN = vector([acl(31, 'world', 'anyone')]);

/** The parts of a transaction, each with its number. */
export const parts = (...list: readonly (readonly [type: number, body: Buffer])[]): Buffer =>
  record(
    ...list.map(([type, body]) => record(int(type), bool(false), int(-1), body)),
    int(-1),
    bool(true),
    int(-1),
  );

/** An answer, or an event if the xid says so. */
export interface Answer {
  readonly xid: number;
  readonly zxid: bigint;
  readonly code: number;
  readonly body: Buffer;
}

export interface Attach {
  readonly id?: bigint;
  readonly password?: Buffer;
  readonly timeoutMs?: number;
  readonly lastZxid?: bigint;
}

/** How long to wait for an answer before it counts as none. */
const SILENCE_MS = 1500;

/** One connection, asked and answered packet by packet. */
export class RawClient {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  readonly #frames: Buffer[] = [];
  readonly #waiting: ((frame: Buffer | undefined) => void)[] = [];
  #rest: Buffer = Buffer.alloc(0);
  #xid = 0;
  /** As the handshake was answered. */
  id = 0n;
  password: Buffer = Buffer.alloc(16);
  timeoutMs = 0;

  private constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => undefined);
    this.socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.closed = new Promise((resolve) => {
      this.socket.once('close', () => {
        for (const resolveWaiting of this.#waiting.splice(0)) resolveWaiting(undefined);
        resolve();
      });
    });
  }

  /** A connection that says nothing yet. */
  static silent(port: number): RawClient {
    return new RawClient(port);
  }

  /** Connects and shakes hands; a `timeoutMs` of 0 afterwards means that there is no such session. */
  static async open(port: number, attach: Attach = {}): Promise<RawClient> {
    const client = new RawClient(port);
    client.sendFrame(handshake(attach));
    const greeting = await client.frame();
    if (greeting === undefined) return client;
    client.timeoutMs = greeting.readInt32BE(4);
    client.id = greeting.readBigInt64BE(8);
    client.password = Buffer.from(greeting.subarray(20, 36));
    return client;
  }

  sendFrame(payload: Buffer): void {
    this.socket.write(record(int(payload.length), payload));
  }

  send(type: number, body: Buffer = Buffer.alloc(0), xid = ++this.#xid): void {
    this.sendFrame(record(int(xid), int(type), body));
  }

  /** Asks, and gives the next packet that comes; `undefined` if none does. */
  async ask(type: number, body?: Buffer, xid?: number): Promise<Answer | undefined> {
    this.send(type, body, xid);
    return this.next();
  }

  /** The next packet; `undefined` when the connection ends, or after a while of silence. */
  async next(): Promise<Answer | undefined> {
    const frame = await this.frame();
    return (
      frame && {
        xid: frame.readInt32BE(0),
        zxid: frame.readBigInt64BE(4),
        code: frame.readInt32BE(12),
        body: frame.subarray(16),
      }
    );
  }

  frame(): Promise<Buffer | undefined> {
    const ready = this.#frames.shift();
    if (ready !== undefined || this.socket.destroyed) return Promise.resolve(ready);
    return new Promise((resolve) => {
      const give = (frame: Buffer | undefined) => {
        clearTimeout(timer);
        resolve(frame);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(give), 1);
        resolve(undefined);
      }, SILENCE_MS);
      this.#waiting.push(give);
    });
  }

  destroy(): void {
    this.socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 4) {
      const end = 4 + this.#rest.readInt32BE(0);
      if (this.#rest.length < end) return;
      const frame = this.#rest.subarray(4, end);
      this.#rest = this.#rest.subarray(end);
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#frames.push(frame);
      else waiting(frame);
    }
  }
}

function handshake({
  id = 0n,
  password = Buffer.alloc(16),
  timeoutMs = 10_000,
  lastZxid = 0n,
}: Attach): Buffer {
  return record(int(0), long(lastZxid), int(timeoutMs), long(id), text(password), bool(false));
}

import { connect, type Socket } from 'node:net';

/** A TCP connection to a server, its incoming bytes cut into frames. Nothing of ZooKeeper's sessions is known here. */
export class Wire {
  readonly #socket: Socket;
  #pending = Buffer.alloc(0);
  #isClosed = false;
  /** Takes each frame, without its length, in the order of arrival. */
  onFrame: (frame: Buffer) => void = () => undefined;
  /** Resolves when the connection has ended, whoever ended it, with the bytes that made no whole frame. */
  readonly closed: Promise<Buffer>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    // What is said after a connection was reset is that it is closed; the reason is nobody's business here.
    socket.on('error', () => socket.destroy());
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isClosed = true;
        resolve(this.#pending);
      });
    });
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
  }

  static async open(port: number): Promise<Wire> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    return new Wire(socket);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Sends bytes as they are. */
  write(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Sends bytes with their length before them. */
  frame(payload: Uint8Array): void {
    const length = Buffer.alloc(4);
    length.writeInt32BE(payload.length);
    this.write(Buffer.concat([length, payload]));
  }

  /** Ends it without a word to the server: what a crash looks like. */
  destroy(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    while (this.#pending.length >= 4) {
      const end = 4 + this.#pending.readInt32BE();
      if (end < 4 || this.#pending.length < end) return;
      const frame = this.#pending.subarray(4, end);
      this.#pending = this.#pending.subarray(end);
      this.onFrame(frame);
    }
  }
}

/** What a server answers to bytes that open no session, until it ends the connection. */
export async function ask(port: number, bytes: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  const chunks: Buffer[] = [];
  const end = new Promise<void>((resolve) => {
    socket.on('error', () => socket.destroy()).once('close', () => resolve());
  });
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(bytes);
  await end;
  return Buffer.concat(chunks).toString();
}

import { connect, type Socket } from 'node:net';
import { FrameReader, framed } from './frames.mjs';

/** A TCP connection to a server, its incoming bytes cut into frames. It knows nothing of ZooKeeper's sessions. */
export class RawConnection {
  readonly #socket: Socket;
  readonly #frames = new FrameReader();
  #isClosed = false;
  /** Takes each frame, without its length, in the order of arrival. */
  onFrame: (frame: Buffer) => void = () => undefined;
  /** Resolves when either end has ended the connection, with the bytes that made no whole frame. */
  readonly closed: Promise<Buffer>;

  private constructor(socket: Socket) {
    this.#socket = socket;
    // After a reset the connection counts as closed, whatever the reason.
    socket.on('error', () => socket.destroy());
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isClosed = true;
        resolve(this.#frames.rest);
      });
    });
    socket.on('data', (bytes: Buffer) => {
      for (const frame of this.#frames.push(bytes)) this.onFrame(frame);
    });
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    return new RawConnection(socket);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Sends bytes as they are. */
  write(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** Sends bytes with their length before them. */
  writeFrame(payload: Uint8Array): void {
    this.write(framed(payload));
  }

  /** Ends it in good order: the server still reads the bytes that were sent. */
  end(): void {
    this.#socket.end();
  }

  /** Ends it without notice to the server, as in a crash. */
  destroy(): void {
    this.#socket.destroy();
  }
}

/** A server's answer to bytes that open no session, until it ends the connection: text, which makes no whole frame. */
export async function answerTo(port: number, bytes: string): Promise<string> {
  const connection = await RawConnection.open(port);
  connection.write(Buffer.from(bytes));
  return (await connection.closed).toString();
}

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { FrameReader } from '../../src/wire/frames.js';

/** What a fake server does with the frames of one connection. */
export interface Dialogue {
  /**
   * Answers the handshake, which shows the newest transaction that was seen; gives the reply's timeout, 0 for a session that
   * is over, `undefined` for no answer.
   */
  readonly handshake: (connection: number, seenZxid: bigint) => number | undefined;
  /** Answers a request: an error code, or a body and no error, at transaction 1 unless it says another; `undefined` for no answer. */
  readonly answer?: (
    xid: number,
    type: number,
    connection: number,
  ) => { code: number; body?: Buffer; zxid?: bigint } | undefined;
}

const PASSWORD_BYTES = 16;

/** A server that says what a test wants said, where the real one can't be made to. */
export async function startFakeServer(dialogue: Dialogue): Promise<{ connectString: string }> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const connection = ++connections;
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
    const frames = new FrameReader(2 ** 20);
    let greeted = false;
    socket.on('data', (chunk: Buffer) => {
      for (const frame of frames.push(chunk)) {
        if (greeted) answer(socket, frame, dialogue, connection);
        else greet(socket, dialogue.handshake(connection, frame.readBigInt64BE(4)));
        greeted = true;
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { connectString: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function greet(socket: Socket, timeoutMs: number | undefined): void {
  if (timeoutMs !== undefined) socket.write(handshakeReply(timeoutMs));
}

function answer(socket: Socket, frame: Buffer, dialogue: Dialogue, connection: number): void {
  const [xid, type] = [frame.readInt32BE(0), frame.readInt32BE(4)];
  const given = dialogue.answer?.(xid, type, connection);
  if (given === undefined) return;
  const header = Buffer.alloc(16);
  header.writeInt32BE(xid, 0);
  header.writeBigInt64BE(given.zxid ?? 1n, 4);
  header.writeInt32BE(given.code, 12);
  socket.write(framed(Buffer.concat([header, given.body ?? Buffer.alloc(0)])));
}

function handshakeReply(timeoutMs: number): Buffer {
  const reply = Buffer.alloc(4 + 4 + 8 + 4 + PASSWORD_BYTES + 1);
  reply.writeInt32BE(timeoutMs, 4);
  reply.writeBigInt64BE(timeoutMs === 0 ? 0n : 0x1234n, 8);
  reply.writeInt32BE(PASSWORD_BYTES, 16);
  return framed(reply);
}

function framed(payload: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

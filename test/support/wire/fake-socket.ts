import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { Connection } from '../../../src/session/connection/connection.js';
import { NEW_SESSION } from '../../../src/session/protocol/requests.js';
import { TestClock } from '../../../src/testing/controls/test-clock.js';

/** A socket whose other end is the test. */
export class FakeSocket extends EventEmitter {
  destroyed = false;
  /** The chunks that were written. */
  readonly written: Buffer[] = [];
  write(chunk: Buffer): boolean {
    this.written.push(chunk);
    return true;
  }
  destroy(): void {
    this.destroyed = true;
  }
}

/** A connection over such a socket, whose handshake is answered with `greeting`. */
export async function openConnection(greeting: Buffer) {
  const socket = new FakeSocket();
  const clock = new TestClock();
  const opening = Connection.open(
    { host: 'fake', port: 1 },
    { socket: socket as unknown as Socket, ready: 'connect' },
    { ...NEW_SESSION, timeoutMs: 1000 },
    clock,
    { notified: () => undefined, connectionEnded: () => undefined },
    new AbortController().signal,
  );
  opening.catch(() => undefined);
  socket.emit('connect');
  socket.emit('data', greeting);
  const { connection } = await opening;
  return { socket, clock, connection };
}

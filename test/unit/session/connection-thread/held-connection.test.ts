import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Reader, Server } from '../../../../src/platform/injected-environment.js';
import { SharedInstant } from '../../../../src/platform/time/shared-instant.js';
import { HeldConnection } from '../../../../src/session/connection-thread/held-connection.js';
import { encodeAuth, encodeHandshake, NEW_SESSION } from '../../../../src/session/protocol/requests.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { settle } from '../../../support/waiting.mjs';
import { greeting, reply } from '../../../support/wire/fake-server.mjs';

const TIMES = { leaseMs: 1600, sessionTimeoutMs: 4800 };
const SERVERS = [1, 2].map((port) => ({ host: `zk${port}`, port }));
const HANDSHAKE = encodeHandshake({ ...NEW_SESSION, timeoutMs: 4800, lastZxid: 0n });
const AUTH = encodeAuth('digest', 'a:b');
const [PING_XID, AUTH_XID] = [-2, -4];

class FakeSocket extends EventEmitter {
  written: Buffer[] = [];
  isDestroyed = false;
  readonly port: number;
  readonly says: (bytes: Buffer) => void;

  constructor({ port }: Server, reader: Reader | undefined) {
    super();
    this.port = port;
    this.says = (bytes) => reader?.read(bytes);
  }
  setNoDelay(): void {
    return undefined;
  }
  write(bytes: Buffer): void {
    this.written.push(bytes);
  }
  destroy(): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    queueMicrotask(() => this.emit('close'));
  }
}

/** A connection over which a server serves a session that holds nothing. */
function setUp(servers: readonly Server[] = SERVERS) {
  const clock = new TestClock();
  const sockets: FakeSocket[] = [];
  const events: string[] = [];
  const turns = new SharedArrayBuffer(SharedInstant.BYTES);
  new SharedInstant(turns).raiseTo({ monotonicMs: 2 ** 42 });
  const openSocket = (server: Server, reader?: Reader) => {
    const socket = new FakeSocket(server, reader);
    sockets.push(socket);
    events.push(`socket to ${server.port}`);
    socket.once('close', () => events.push(`socket to ${server.port} closed`));
    return socket as unknown as Socket;
  };
  const opening = {
    endpoint: { server: SERVERS[0] as Server, address: '127.0.0.1' },
    servers,
    tls: undefined,
    maxStallMs: 60_000,
    turns,
  };
  const connection = new HeldConnection(1, opening, {
    environment: { clock, openSocket, random: () => 0 },
    extend: () => undefined,
    post: (message) => {
      if (message.kind !== 'data')
        events.push(message.kind === 'failed' ? message.error.message : message.kind);
    },
  });
  const socket = (at: number) => sockets[at] as FakeSocket;
  socket(0).emit('connect');
  connection.write(HANDSHAKE);
  socket(0).says(greeting(4800));
  connection.write(AUTH);
  socket(0).says(reply(AUTH_XID));
  connection.give({ ...TIMES, heartbeats: [] });
  events.length = 0;
  /** The newest connection shows the session to its server. */
  const introduce = async () => {
    await clock.advance(TIMES.leaseMs / 16);
    socket(sockets.length - 1).emit('connect');
  };
  return { clock, sockets, socket, events, connection, introduce };
}

describe('a connection that is lost in a stall', () => {
  it('is replaced by one that shows the session and the credentials, and sends what is due at once', async () => {
    const { socket, events, introduce } = setUp();
    socket(0).destroy();
    await settle();
    await introduce();
    expect(events).toEqual(['socket to 1 closed', 'lost', 'socket to 2', 'stands-in']);
    expect(socket(1).written).toHaveLength(1);
    socket(1).says(greeting(4800));
    expect(socket(1).written[1]).toEqual(AUTH);
    expect(socket(1).written[2]?.readInt32BE(4)).toBe(PING_XID);
  });

  it('is not replaced if the main thread hears of the loss at once', async () => {
    const { clock, sockets, socket, events, connection } = setUp();
    socket(0).destroy();
    await settle();
    connection.destroy();
    await clock.advance(10 * TIMES.sessionTimeoutMs);
    expect(events).toEqual(['socket to 1 closed', 'lost', 'closed']);
    expect(sockets).toHaveLength(1);
    expect(clock.timerCount).toBe(0);
  });

  it('is not replaced if the thread was given no servers, because it can not authenticate there', async () => {
    const { clock, sockets, socket, events } = setUp([]);
    socket(0).destroy();
    await settle();
    expect(events).toEqual(['socket to 1 closed', 'closed']);
    await clock.advance(10 * TIMES.sessionTimeoutMs);
    expect(sockets).toHaveLength(1);
    expect(clock.timerCount).toBe(0);
  });

  it.each([
    [
      'has ended a stand-in that no server serves before its own end is reported, and sends nothing after that',
      false,
    ],
    [
      'has ended a stand-in that a server serves before its own end is reported, and sends nothing after that',
      true,
    ],
  ])('%s', async (_, isServed) => {
    const { clock, sockets, socket, events, connection, introduce } = setUp();
    socket(0).destroy();
    await settle();
    await introduce();
    if (isServed) socket(1).says(greeting(4800));
    const written = socket(1).written.length;
    const isClosed = () => events.includes('closed');
    const { destroy } = socket(1);
    socket(1).destroy = () => {
      expect(isClosed()).toBe(false);
      destroy.call(socket(1));
    };
    connection.destroy();
    expect(socket(1).isDestroyed).toBe(true);
    expect(isClosed()).toBe(true);
    socket(1).says(greeting(4800)); // It was on its way.
    await clock.advance(10 * TIMES.sessionTimeoutMs);
    expect(socket(1).written).toHaveLength(written);
    expect(sockets).toHaveLength(2);
    expect(clock.timerCount).toBe(0);
  });

  it.each([
    ['is not replaced any more once the session has expired', [greeting(0)]],
    [
      'is not replaced any more once the server refuses the credentials',
      [greeting(4800), reply(AUTH_XID, { code: -115 })],
    ],
  ])('%s', async (_, answers) => {
    const { clock, sockets, socket, events, introduce } = setUp();
    socket(0).destroy();
    await settle();
    await introduce();
    for (const answer of answers) socket(1).says(answer);
    expect(socket(1).isDestroyed).toBe(true);
    await clock.advance(10 * TIMES.sessionTimeoutMs);
    expect(sockets).toHaveLength(2);
    expect(events).not.toContain('closed'); // The main thread finds out itself.
  });
});

describe('a connection that is silent', () => {
  const PING_MS = TIMES.sessionTimeoutMs / 4;
  const SILENT_MS = TIMES.sessionTimeoutMs / 3;

  it('counts as lost when an answer is outstanding for a third of the session timeout, and so does its stand-in', async () => {
    const { clock, sockets, socket, events, connection, introduce } = setUp();
    await clock.advance(PING_MS);
    expect(socket(0).written.at(-1)?.readInt32BE(4)).toBe(PING_XID);
    await clock.advance(SILENT_MS - 1);
    expect(events).toEqual([]);
    await clock.advance(2);
    expect(events).toEqual(['lost', 'socket to 1 closed']);
    await introduce();
    socket(1).says(greeting(4800));
    await clock.advance(SILENT_MS + 2);
    expect(socket(1).isDestroyed).toBe(true);
    await clock.advance(100);
    expect(sockets).toHaveLength(3);
    connection.destroy();
    expect(events.slice(-2)).toEqual(['no reply to a heartbeat within 1600 ms: the link is dead', 'closed']);
  });

  it('is kept while answers come, and when nothing is to be sent any more', async () => {
    const { clock, socket, events, connection } = setUp();
    for (let pings = 0; pings < 5; pings++) {
      await clock.advance(PING_MS);
      socket(0).says(reply(PING_XID));
    }
    await clock.advance(PING_MS);
    connection.give(undefined);
    await clock.advance(10 * TIMES.sessionTimeoutMs);
    expect(events).toEqual([]);
    expect(socket(0).isDestroyed).toBe(false);
  });
});

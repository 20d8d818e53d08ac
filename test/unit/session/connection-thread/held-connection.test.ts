import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Reader, Server } from '../../../../src/platform/injected-environment.js';
import { repeatsEveryMs } from '../../../../src/platform/time/heartbeat-intervals.js';
import { SharedInstant } from '../../../../src/platform/time/shared-instant.js';
import { HeldConnection } from '../../../../src/session/connection-thread/held-connection.js';
import { encodeHandshake, heartbeatRequest, NEW_SESSION } from '../../../../src/session/protocol/requests.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { settle } from '../../../support/waiting.mjs';
import { greeting, reply } from '../../../support/wire/fake-server.mjs';
import { Writer } from '../../../support/wire/jute.mjs';

const TIMES = { leaseMs: 1600, sessionTimeoutMs: 4800 };
const REPEAT_MS = repeatsEveryMs(TIMES);
const HANDSHAKE = encodeHandshake({ ...NEW_SESSION, timeoutMs: 4800, lastZxid: 0n });
/** A node by which something is held. */
const HELD = {
  frame: heartbeatRequest([{ kind: 'check', path: '/election/leader' }]).encode(0),
  ...{ id: 1, raisedBy: undefined, version: 0, parts: 1 },
  memory: [new SharedArrayBuffer(8)],
};
const GIVEN = {
  ...TIMES,
  released: [],
  held: [HELD],
  heartbeats: undefined,
};
const OTHER = heartbeatRequest([{ kind: 'check', path: '/another' }]).encode(1);
const COMMITTED = new Writer().int(13).bool(false).int(0).int(-1).bool(true).int(-1).done();

class FakeSocket extends EventEmitter {
  readonly written: Buffer[] = [];
  readonly #reader: Reader | undefined;
  #isDestroyed = false;

  constructor(reader: Reader | undefined) {
    super();
    this.#reader = reader;
  }
  says(bytes: Buffer): void {
    this.#reader?.read(bytes);
  }
  setNoDelay(): void {
    return undefined;
  }
  write(bytes: Buffer): void {
    this.written.push(bytes);
  }
  destroy(error?: Error): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    queueMicrotask(() => {
      if (error !== undefined) this.emit('error', error);
      this.emit('close');
    });
  }
  /** The xid of the newest packet. */
  get newestXid(): number {
    return this.written.at(-1)?.readInt32BE(4) ?? 0;
  }
}

/** A connection over which a server serves a session that holds something, and whose main thread sends nothing more. */
function setUp({ mainTurns = true } = {}) {
  const clock = new TestClock();
  const sockets: FakeSocket[] = [];
  const events: string[] = [];
  const turns = new SharedArrayBuffer(SharedInstant.BYTES);
  new SharedInstant(turns).raiseTo({ monotonicMs: mainTurns ? 2 ** 42 : 1 });
  const openSocket = (_: Server, reader?: Reader) => {
    const socket = new FakeSocket(reader);
    sockets.push(socket);
    return socket as unknown as Socket;
  };
  const opening = {
    endpoint: { server: { host: 'zk1', port: 1 }, address: '127.0.0.1' },
    tls: undefined,
    maxStallMs: 60_000,
    turns,
  };
  const connection = new HeldConnection(1, opening, {
    environment: { clock, openSocket },
    proved: () => void events.push('the lease is extended'),
    post: (message) => void events.push(message.kind === 'failed' ? message.error.message : message.kind),
  });
  const [socket] = sockets as [FakeSocket];
  socket.emit('connect');
  connection.write(HANDSHAKE);
  socket.says(greeting(4800));
  connection.give(GIVEN);
  events.length = 0;
  const endsOfNothing = async () => {
    const written = socket.written.length;
    await clock.advance(10 * TIMES.sessionTimeoutMs);
    expect(socket.written).toHaveLength(written);
    expect(sockets).toHaveLength(1);
    expect(clock.timerCount).toBe(0);
  };
  return { clock, socket, events, connection, endsOfNothing };
}

describe('a connection that is lost in a stall', () => {
  it('has reported all answers that came before, then why it ended, and then its end: after that nothing is sent', async () => {
    const { clock, socket, events, endsOfNothing } = setUp();
    await clock.advance(REPEAT_MS);
    expect(socket.written).toHaveLength(2);
    socket.says(reply(socket.newestXid, { body: COMMITTED }));
    await clock.advance(REPEAT_MS);
    expect(socket.written).toHaveLength(3); // Nothing answers it any more.
    socket.destroy(new Error('reset'));
    await settle();
    expect(events).toEqual(['the lease is extended', 'repeated', 'reset', 'closed']);
    await endsOfNothing();
  });

  it('sends nothing, though a heartbeat is due in that moment', async () => {
    const { clock, socket, events, endsOfNothing } = setUp();
    await clock.advance(REPEAT_MS - 1);
    socket.destroy();
    await settle();
    expect(events).toEqual(['closed']);
    await endsOfNothing();
  });

  it('extends no lease by an answer that comes after its end', async () => {
    const { clock, socket, events, endsOfNothing } = setUp();
    await clock.advance(REPEAT_MS);
    socket.destroy();
    await settle();
    socket.says(reply(socket.newestXid, { body: COMMITTED }));
    expect(events).toEqual(['closed']);
    await endsOfNothing();
  });

  it('takes nothing that the main thread asks before it has heard of the loss', async () => {
    const { clock, socket, events, connection, endsOfNothing } = setUp();
    await clock.advance(1);
    socket.destroy();
    await settle();
    const written = socket.written.length;
    connection.write(OTHER);
    connection.give(GIVEN);
    connection.destroy();
    expect(socket.written).toHaveLength(written);
    expect(events).toEqual(['closed']);
    await endsOfNothing();
  });
});

describe('a connection that the main thread gives up', () => {
  it('sends no heartbeat any more, from that moment on, and ends', async () => {
    const { clock, socket, events, connection, endsOfNothing } = setUp();
    await clock.advance(REPEAT_MS - 1);
    connection.destroy();
    await endsOfNothing();
    expect(socket.written).toHaveLength(1);
    expect(events).toEqual(['closed']);
  });
});

describe('a connection that is silent', () => {
  it('is left to the main thread: nothing is sent over it until an answer comes, and it is not ended', async () => {
    const { clock, socket, events } = setUp();
    await clock.advance(REPEAT_MS);
    expect(socket.written).toHaveLength(2);
    await clock.advance(10 * TIMES.sessionTimeoutMs);
    expect(socket.written).toHaveLength(2);
    expect(events).toEqual([]);
    socket.says(reply(socket.newestXid, { body: COMMITTED }));
    await clock.advance(REPEAT_MS);
    expect(socket.written).toHaveLength(3);
  });
});

it.each([
  { mainTurns: true, events: ['the lease is extended', 'answered', 'data'] },
  { mainTurns: false, events: ['answered', 'data'] },
])(
  'a heartbeat that the main thread gave extends a lease if that thread turns when it is sent: $mainTurns',
  ({ mainTurns, events: expected }) => {
    const { socket, events, connection } = setUp({ mainTurns });
    connection.give({ ...GIVEN, heartbeats: [{ frame: HELD.frame, nodes: [HELD] }] });
    connection.write(HELD.frame);
    socket.says(reply(socket.newestXid, { body: COMMITTED }));
    expect(events).toEqual(expected);
  },
);

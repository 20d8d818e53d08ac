import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import {
  AuthenticationError,
  ConnectionLossError,
  NoServerError,
  SessionExpiredError,
  ZooKeeperError,
} from '../../src/errors.js';
import { systemEnvironment } from '../../src/platform/injected-environment.js';
import type { Clock } from '../../src/platform/time/clock.js';
import { Session } from '../../src/session/session.js';
import { connectString, inOrder, openSession } from '../support/conclave/sessions.js';
import { aborted, nextEvent } from '../support/events.js';
import { SILENT } from '../support/silent-logger.mjs';
import type { Dialogue } from '../support/wire/fake-server.mjs';
import { GREETING, hostileChunk, PONG, WITHOUT_PASSWORD } from '../support/wire/hostile-frames.js';
import { startFakeServer } from '../support/wire/start-fake-server.js';

const AUTH = 100;
const EXISTS = 3;

/** The system's environment, with a clock that a test can move ahead. */
function movableEnvironment() {
  const { clock } = systemEnvironment;
  let aheadMs = 0;
  const ahead: Clock = {
    now: () => clock.now() + aheadMs,
    date: () => clock.date(),
    after: (ms, task) => clock.after(ms, task),
  };
  const moveAhead = (ms: number) => {
    aheadMs += ms;
  };
  return { environment: { ...systemEnvironment, clock: ahead }, moveAhead };
}

describe('a server that is not what it should be', () => {
  it.each([
    ['random bytes', () => randomBytes(300)],
    ['a frame of 2 GB', () => Buffer.from([0x7f, 0xff, 0xff, 0xff, 0, 0])],
    ['a frame of negative length', () => Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ['an empty frame', () => Buffer.from([0, 0, 0, 0])],
    ['HTTP', () => Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('is left for another when it sends %s', async (_, bytes) => {
    let tried = false;
    const { connectString: hostile } = await startFakeServer({
      connected: (socket) => {
        tried = true;
        socket.end(bytes());
      },
    });
    const session = await openSession({ environment: inOrder }, `${hostile},${connectString()}`);
    expect(tried).toBe(true);
    expect(await session.exists('/')).toBeDefined();
  });

  it.each([
    ['accepts and closes', ''],
    ['takes the session and closes', GREETING],
  ])('that %s is backed off from', async (_, greeting) => {
    let connections = 0;
    const { connectString: closing } = await startFakeServer({
      connected: (socket) => {
        connections++;
        if (greeting === '') socket.destroy();
        else socket.once('data', () => socket.end(greeting));
      },
    });
    const giveUp = AbortSignal.timeout(1500);
    const options = { connectTimeoutMs: 1500, environment: inOrder };
    const session = await Session.connect(closing, options).catch(() => undefined);
    await aborted(giveUp);
    await session?.close({ timeoutMs: 0 });
    // There are pauses of 50, 100, 200, 400 and 800 ms between the connections. Without them there would be hundreds.
    expect(connections).toBeGreaterThan(1);
    expect(connections).toBeLessThan(10);
  });

  it('ended a session, and kept its socket, by giving it no password', async () => {
    const opened: Socket[] = [];
    const { connectString: strange } = await startFakeServer({
      connected: (socket) => {
        opened.push(socket);
        socket.once('data', () => {
          socket.write(WITHOUT_PASSWORD);
          socket.once('data', () => socket.write(PONG));
        });
      },
    });
    const session = await Session.connect(strange, { sessionTimeoutMs: 1000 });
    expect(session.state.name).toBe('connected');
    await session.close({ timeoutMs: 5 });
    for (const socket of opened) if (!socket.closed) await once(socket, 'close');
    expect(opened).toHaveLength(1);
  });

  it('sends what it likes: the session goes on or ends, each operation settles, and closing works', async () => {
    const said: Buffer[] = [];
    const { connectString: hostile } = await startFakeServer({
      connected: (socket) => {
        socket.once('data', () => {
          socket.write(GREETING);
          socket.once('data', () => socket.write(Buffer.concat([PONG, ...said])));
        });
      },
    });
    await fc.assert(
      fc.asyncProperty(fc.array(hostileChunk, { minLength: 1, maxLength: 6 }), async (chunks) => {
        said.splice(0, said.length, ...chunks);
        const session = await Session.connect(hostile, { sessionTimeoutMs: 1000 });
        const outcomes = Promise.allSettled([
          session.exists('/a'),
          session.getData('/a'),
          session.getChildren('/a'),
        ]);
        await new Promise((resolve) => setImmediate(resolve));
        await session.close({ timeoutMs: 5 });
        expect(await outcomes).toHaveLength(3);
      }),
      { numRuns: 200 },
    );
  });

  it('gets an error for an unknown error code, and the process lives', async () => {
    const server = await startFakeServer({
      answer: ({ type }) => ({ code: type === EXISTS ? -987 : 0 }),
    });
    const session = await openSession({}, server.connectString);
    const refused = session.exists('/a');
    await expect(refused).rejects.toBeInstanceOf(ZooKeeperError);
    await expect(refused).rejects.toMatchObject({ code: 'UNKNOWN', serverCode: -987, path: '/a' });
    expect(session.state.name).toBe('connected');
  });

  it('is left when a reply can not be read; the operation counts as lost', async () => {
    const server = await startFakeServer({ answer: () => ({ code: 0, body: Buffer.alloc(3) }) });
    const session = await openSession({}, server.connectString);
    const suspended = nextEvent(session, 'suspended');
    await expect(session.exists('/a')).rejects.toBeInstanceOf(ConnectionLossError);
    await suspended;
  });

  it('that refuses the credentials fails the connect, for good', async () => {
    const server = await startFakeServer({
      answer: ({ type }) => ({ code: type === AUTH ? -115 : 0 }),
    });
    const auth = { scheme: 'digest', credentials: 'alice:secret' } as const;
    const connecting = Session.connect(server.connectString, { auth });
    await expect(connecting).rejects.toBeInstanceOf(AuthenticationError);
    await expect(connecting).rejects.not.toThrow('secret');
    await expect(connecting).rejects.toThrow(/of the scheme 'digest' \(-115\): .*set up on the servers/);
  });

  it('that demands credentials gets them first on each connection, before a ping asks what it has seen, and before the goodbye', async () => {
    const seen: string[] = [];
    const names = new Map([
      [AUTH, 'auth'],
      [EXISTS, 'exists'],
    ]);
    const { environment, moveAhead } = movableEnvironment();
    const server = await startFakeServer({
      handshake: () => {
        seen.push('connect');
        return 60_000;
      },
      answer: ({ type }) => {
        seen.push(names.get(type) ?? String(type));
        if (type === EXISTS) return { code: 0, body: Buffer.alloc(3), zxid: 7n }; // Unreadable: the session leaves the server.
        return { zxid: 7n };
      },
      firstPing: () => {
        seen.push('ping');
        return { zxid: 7n };
      },
      close: () => {
        seen.push('closeSession');
        return {};
      },
    });
    const auth = { scheme: 'digest', credentials: 'alice:secret' } as const;
    const session = await openSession({ auth, environment, sessionTimeoutMs: 3000 }, server.connectString);
    const resumed = nextEvent(session, 'resumed');
    session.once('suspended', () => {
      moveAhead(600_000); // Longer than it insists on what it has seen.
    });
    await expect(session.exists('/a')).rejects.toBeInstanceOf(ConnectionLossError);
    await resumed;
    expect(seen).toEqual(['connect', 'auth', 'ping', 'exists', 'connect', 'auth', 'ping']);
    const suspended = nextEvent(session, 'suspended');
    await expect(session.exists('/a')).rejects.toBeInstanceOf(ConnectionLossError);
    await suspended;
    seen.length = 0;
    await session.close();
    expect(seen).toEqual(['connect', 'auth', 'ping', 'closeSession']);
  });

  it.each([
    ['closes', (socket: Socket) => socket.end()],
    ['resets', (socket: Socket) => socket.resetAndDestroy()],
  ])(
    'that %s a connection right after it accepted it is said to have too many of this host, for example',
    async (_, end) => {
      const { connectString: connect } = await startFakeServer({ connected: end });
      const refused = Session.connect(connect, { connectTimeoutMs: 500 });
      await expect(refused).rejects.toThrow(
        /closed the connection right after accepting it: .*maxClientCnxns/,
      );
      const supervisor = new ElectionSupervisor({ connect, path: '/a', logger: SILENT });
      const reported = nextEvent<[Error]>(supervisor, 'error');
      const starting = supervisor.start().catch(() => undefined);
      expect((await reported)[0]).toBeInstanceOf(NoServerError);
      expect((await reported)[0].message).toContain('maxClientCnxns');
      await supervisor.stop();
      await starting;
    },
  );

  const unreadable = { code: 0, body: Buffer.alloc(3) }; // The session leaves the server.

  it.each<[what: string, dialogue: Dialogue, connections: number]>([
    [
      '"session expired" loses the operation; the next handshake shows that the session is over',
      { handshake: (connection) => (connection === 1 ? 60_000 : 0), answer: () => ({ code: -112 }) },
      2,
    ],
    [
      '"session moved" ends the session: another connection has it, and there is no fight for it',
      { answer: () => ({ code: -118 }) },
      1,
    ],
    [
      '"session moved" before it serves ends the session, too',
      { answer: () => unreadable, firstPing: (connection) => ({ code: connection === 1 ? 0 : -118 }) },
      2,
    ],
  ])('that answers %s', async (_, dialogue, expected) => {
    let connections = 0;
    const { handshake = () => 60_000 } = dialogue;
    const server = await startFakeServer({
      ...dialogue,
      handshake: (...shown) => {
        [connections] = shown;
        return handshake(...shown);
      },
    });
    const session = await openSession({}, server.connectString);
    await expect(session.exists('/a')).rejects.toBeInstanceOf(ConnectionLossError);
    expect(await aborted(session.signal)).toBeInstanceOf(SessionExpiredError);
    expect(session.state.name).toBe('expired');
    expect(connections).toBe(expected);
  });

  it('that takes no session now, by another version of the protocol, is left for another', async () => {
    const server = await startFakeServer({ handshake: () => 60_000, protocolVersion: 42 });
    const alone = Session.connect(server.connectString, { connectTimeoutMs: 500 });
    await expect(alone).rejects.toThrow('the server takes no session now (protocol version 42)');
    const session = await openSession({ environment: inOrder }, `${server.connectString},${connectString()}`);
    expect(await session.exists('/')).toBeDefined();
  });

  it('that answers "session moved" because a handshake of our own was given up is asked for the session again', async () => {
    const answers = [unreadable, undefined, { code: -118 }, { code: -101 }];
    const server = await startFakeServer({
      handshake: (connection) => (connection === 2 ? undefined : 60_000),
      answer: ({ connection }) => answers[connection - 1],
    });
    const session = await openSession({ sessionTimeoutMs: 3000 }, server.connectString);
    expect(await session.retryUntilAnswered(() => session.exists('/a'))).toBeUndefined();
    expect(session.state.name).toBe('connected');
  });

  it('that answers "session moved" long after a handshake of our own was given up is asked for the session once more', async () => {
    // Servers don't refuse reads when a session has moved. A session that only waits learns of it by its first write.
    const { environment, moveAhead } = movableEnvironment();
    let isMoved = false;
    const nothingThere = { code: -101 };
    const server = await startFakeServer({
      handshake: (connection) => (connection === 2 ? undefined : 60_000),
      answer: ({ connection }) => {
        if (connection === 1) return unreadable;
        return isMoved ? { code: -118 } : nothingThere;
      },
    });
    const session = await openSession({ sessionTimeoutMs: 3000, environment }, server.connectString);
    expect(await session.retryUntilAnswered(() => session.exists('/a'))).toBeUndefined();
    moveAhead(600_000);
    isMoved = true;
    const suspended = nextEvent(session, 'suspended').then(() => {
      isMoved = false;
    });
    await expect(session.exists('/a')).rejects.toBeInstanceOf(ConnectionLossError);
    await suspended;
    expect(await session.retryUntilAnswered(() => session.exists('/a'))).toBeUndefined();
    expect(session.state.name).toBe('connected');
    isMoved = true;
    await expect(session.exists('/a')).rejects.toBeInstanceOf(ConnectionLossError);
    expect(await aborted(session.signal)).toBeInstanceOf(SessionExpiredError);
  });
});

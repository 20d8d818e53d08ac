import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ConnectionLossError, InvalidOptionError, NodeExistsError } from '../../../src/errors.js';
import { DistributedLock } from '../../../src/lock/distributed-lock.js';
import { Session } from '../../../src/session/session.js';
import type { SessionOptions } from '../../../src/session/session-options.js';
import { TestClock } from '../../../src/testing/controls/test-clock.js';
import { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from '../../../src/testing/index.js';
import { fourLetterWord } from '../../../tools/zookeeper/four-letter-word.mjs';
import { eventAfter, nextEvent } from '../../support/events.js';
import { SILENT } from '../../support/silent-logger.mjs';
import { until } from '../../support/waiting.mjs';
import { authenticate } from '../../support/wire/digest-md5.js';
import { framed } from '../../support/wire/frames.mjs';
import { hostileNumber, int } from '../../support/wire/hostile-frames.js';
import { Writer } from '../../support/wire/jute.mjs';
import {
  auth,
  CREATOR_ALL,
  create,
  getData,
  MODE,
  ping,
  sasl,
  setData,
} from '../../support/wire/operations.js';
import { ERROR } from '../../support/wire/protocol.mjs';
import { ConnectionEndedError, RawClient } from '../../support/wire/raw-client.js';
import { RawConnection } from '../../support/wire/raw-connection.js';

async function start(options: EmbeddedZooKeeperOptions = {}): Promise<EmbeddedZooKeeper> {
  const server = await EmbeddedZooKeeper.start({ tickMs: 50, logger: SILENT, ...options });
  onTestFinished(() => server.stop());
  return server;
}

async function connect(server: EmbeddedZooKeeper, options: SessionOptions = {}): Promise<Session> {
  const session = await Session.connect(server.connectString, { sessionTimeoutMs: 1000, ...options });
  onTestFinished(() => session.close());
  return session;
}

it('the embedded server warns once without a logger, and not at the level silent', async () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  vi.stubEnv('CONCLAVE_LOG_LEVEL', 'silent');
  onTestFinished(() => void vi.unstubAllEnvs());
  await (await EmbeddedZooKeeper.start()).stop();
  expect(write.mock.calls).toEqual([]);
  vi.stubEnv('CONCLAVE_LOG_LEVEL', undefined);
  for (let count = 0; count < 2; count++) await (await EmbeddedZooKeeper.start()).stop();
  expect(write.mock.calls.map(([text]) => text)).toEqual([
    expect.stringContaining('for tests and demos only'),
  ]);
});

const EPHEMERAL = { mode: MODE.ephemeral } as const;

describe('the embedded server', () => {
  it('starts, warns that it is for tests, and stops', async () => {
    const warn = vi.fn();
    const server = await EmbeddedZooKeeper.start({ logger: { ...SILENT, warn } });
    expect(warn.mock.calls).toEqual([
      [{ connectString: server.connectString }, expect.stringContaining('for tests and demos only')],
    ]);
    await server.stop();
    await server.stop();
    await expect(fourLetterWord(server.port, 'ruok')).rejects.toThrow('ECONNREFUSED');
  });

  it.each([
    [{ host: '0.0.0.0' }, 'host'],
    [{ host: '192.168.1.1' }, 'host'],
    [{ host: null }, 'host'],
    [{ port: 65_536 }, 'port'],
    [{ port: '2181' }, 'port'],
    [{ tickMs: 0 }, 'tickMs'],
    [{ minSessionTimeoutMs: 500, maxSessionTimeoutMs: 100 }, 'maxSessionTimeoutMs'],
    [{ dialect: '3.7' }, 'dialect'],
    [{ firstZxid: 7 }, 'firstZxid'],
    [{ saslUsers: ['worker'] }, 'saslUsers'],
    [{ saslUsers: { '': 'secret' } }, 'saslUsers'],
    [{ saslUsers: { 'a@b@c': 'secret' } }, 'saslUsers'],
    [{ saslUsers: { worker: '' } }, 'saslUsers.worker'],
    [{ saslUsers: { worker: 7 } }, 'saslUsers.worker'],
    [{ saslUsers: { worker: 'a\0b' } }, 'saslUsers.worker'],
    [{ saslUsers: { worker: '\ud800' } }, 'saslUsers.worker'],
    [{ requireAuth: 'sasl' }, 'requireAuth'],
    [{ requireAuth: ['ip'] }, 'requireAuth'],
    [{ clock: {} }, 'clock'],
    [{ logger: {} }, 'logger'],
    [{ ports: 1 }, 'ports'],
  ])('refuses %j and names the option', async (options, option) => {
    const starting = EmbeddedZooKeeper.start(options as EmbeddedZooKeeperOptions);
    await expect(starting).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(starting).rejects.toThrow(option);
  });

  it('says why it listens on this machine alone', async () => {
    const starting = EmbeddedZooKeeper.start({ host: '0.0.0.0' } as never);
    await expect(starting).rejects.toThrow("'localhost': this server is for tests and has no access control");
  });

  it('shows no password of a SASL user in an error', async () => {
    for (const saslUsers of ['hunter2', { worker: 'hunter2\0' }, ['hunter2']]) {
      const starting = EmbeddedZooKeeper.start({ saslUsers } as never);
      await expect(starting).rejects.toSatisfy((error) => !inspect(error).includes('hunter2'));
    }
  });

  it('counts transactions from firstZxid on, also without its data', async () => {
    const server = await start({ firstZxid: 2n ** 62n });
    const session = await connect(server);
    expect((await session.create('/node')).zxid).toBeGreaterThan(2n ** 62n);
    await session.close();
    await server.crash();
    await server.restart({ empty: true });
    const later = await connect(server);
    expect((await later.create('/node')).zxid).toBeGreaterThan(2n ** 62n);
    for (const firstZxid of [-1n, 2n ** 62n + 1n])
      await expect(EmbeddedZooKeeper.start({ firstZxid })).rejects.toThrow(InvalidOptionError);
  });

  it('listens on IPv6 too', async () => {
    const server = await start({ host: '::1' });
    expect(server.connectString).toBe(`[::1]:${server.port}`);
    expect(await (await connect(server)).exists('/')).toBeDefined();
  });

  it('grants session timeouts from 2 to 20 ticks', async () => {
    const server = await start({ tickMs: 100 });
    const timeouts = [1, 500, 60_000].map((timeoutMs) => RawClient.connect(server.port, { timeoutMs }));
    expect((await Promise.all(timeouts)).map(({ greeting }) => greeting.timeoutMs)).toEqual([200, 500, 2000]);
  });
});

it('time at the embedded server is that of the given clock: sessions end by it, and stats are dated by it', async () => {
  const clock = new TestClock(new Date(0));
  const server = await start({ clock, tickMs: 1000 });
  const client = await RawClient.connect(server.port, { timeoutMs: 4000 });
  await client.do(create('/mine', EPHEMERAL));
  const other = await RawClient.connect(server.port, { timeoutMs: 20_000 });
  await clock.advance(3000);
  await client.do(ping());
  await clock.advance(4000);
  expect(server.sessionOf('/mine')?.isAlive).toBe(true);
  await clock.advance(1000);
  expect(server.paths()).not.toContain('/mine');
  expect(server.sessions()).toHaveLength(1);
  await client.closed;
  await other.do(create('/later'));
  const { stat } = await other.do(getData('/later'));
  expect(stat.ctime).toBe(8000n);
});

describe('what a test can do to the embedded server', () => {
  it('drop a connection: the session goes on at the next one', async () => {
    const server = await start();
    const session = await connect(server);
    await session.create('/mine', { mode: 'ephemeral' });
    const [handle] = server.sessions();
    await eventAfter(session, 'resumed', () => handle?.dropConnection());
    expect(server.sessionOf('/mine')).toBe(handle);
    expect(server.count('connect')).toBe(2);
  });

  it('lose the reply to a create: it was carried out, and the lock finds its place again', async () => {
    const server = await start();
    const session = await connect(server);
    await session.create('/lock'); // Otherwise the server would refuse the lock's create.
    const fault = server.swallowReply('create', { path: /-lock-/ });
    const hold = await new DistributedLock(session, '/lock').acquire();
    expect(fault.hits).toBe(1);
    expect(server.paths('/lock')).toHaveLength(2);
    await hold.release();
    server.swallowReply('create');
    await expect(session.create('/lost')).rejects.toBeInstanceOf(ConnectionLossError);
    expect(server.paths()).toContain('/lost');
  });

  it('answer with an error, a number of times, and carry nothing out', async () => {
    const server = await start();
    const session = await connect(server);
    const fault = server.failWith('NODE_EXISTS', { operation: 'create', path: '/a', times: 2 });
    await expect(session.create('/a')).rejects.toBeInstanceOf(NodeExistsError);
    await session.create('/b');
    await expect(session.create('/a')).rejects.toBeInstanceOf(NodeExistsError);
    await session.create('/a');
    expect(fault.hits).toBe(2);
    const forever = server.failWith(-125, { operation: 'setData' });
    await expect(session.setData('/a', Buffer.from('x'))).rejects.toMatchObject({ serverCode: -125 });
    forever.clear();
    await session.setData('/a', Buffer.from('x'));
    expect(server.data('/a')?.toString()).toBe('x');
    expect(() => server.failWith('NO_SUCH' as 'OK')).toThrow(InvalidOptionError);
    expect(() => server.failWith('NO_NODE', { operation: 'crate' as 'create' })).toThrow(InvalidOptionError);
    expect(() => server.failWith('NO_NODE', { times: 0 })).toThrow(InvalidOptionError);
    expect(() => server.delay(-1)).toThrow(InvalidOptionError);
    expect(() => server.delay(undefined as never)).toThrow(InvalidOptionError);
  });

  it('fail a handshake: no session is opened', async () => {
    const server = await start();
    const fault = server.failWith('CONNECTION_LOSS', { operation: 'connect', times: 1 });
    await expect(RawClient.connect(server.port)).rejects.toBeInstanceOf(ConnectionEndedError);
    expect(fault.hits).toBe(1);
    expect(server.sessions()).toEqual([]);
  });

  it('take a field that is undefined as left out, and refuse a name that no fault has', async () => {
    const server = await start();
    const session = await connect(server);
    const lost = server.swallowReply('create', { times: undefined } as never);
    await session.create('/a').catch(() => undefined);
    await session.create('/b').catch(() => undefined);
    expect(lost.hits).toBe(1);
    expect(() => server.failWith('NO_NODE', { opertion: 'create' } as never)).toThrow(InvalidOptionError);
  });

  it('delay answers, of one kind or all, and keep the order on a connection', async () => {
    const clock = new TestClock();
    const server = await start({ clock, tickMs: 10_000 });
    const client = await RawClient.connect(server.port);
    const fault = server.delay(100, { only: 'create' });
    const answers = [client.ask(create('/a'), 1), client.ask(getData('/a'), 2)];
    await until(() => server.count('getData') === 1);
    expect(server.paths()).toContain('/a');
    await clock.advance(99);
    expect(client.order).toEqual([]);
    await clock.advance(1);
    await Promise.all(answers);
    expect(client.order).toEqual([1, 2]);
    fault.clear();
    expect(await client.errorOf(getData('/a'))).toBe(ERROR.none);
  });

  it('pause and resume it: nothing is lost, and no session ends because the server sends nothing', async () => {
    const server = await start();
    const client = await RawClient.connect(server.port, { timeoutMs: 200 });
    server.pause();
    const other = RawClient.connect(server.port); // The server accepts it, and doesn't answer.
    const creating = client.errorOf(create('/a'));
    await until(() => server.connectionCount === 2);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(server.count('create')).toBe(0);
    expect(server.sessions()).toHaveLength(1);
    server.resume();
    expect(await creating).toBe(ERROR.none);
    expect((await other).greeting.timeoutMs).toBeGreaterThan(0);
    expect(server.sessions()[0]?.isAlive).toBe(true);
  });

  it('cut the network: without an error, sessions end behind it, and connections that lost bytes are reset when it heals', async () => {
    const server = await start();
    const session = await connect(server, { sessionTimeoutMs: 300 });
    await session.create('/mine', { mode: 'ephemeral' });
    const bystander = await RawClient.connect(server.port, { timeoutMs: 1000 });
    const suspended = nextEvent(session, 'suspended');
    const expired = nextEvent(session, 'expired');
    server.sessionOf('/mine')?.partition();
    expect(await bystander.errorOf(ping())).toBe(ERROR.none);
    await suspended;
    await until(() => !server.paths().includes('/mine'), 'the expiry');
    expect(session.signal.aborted).toBe(false);
    server.clearFaults();
    await expired;
    server.partition();
    const unanswered = bystander.do(ping());
    await until(() => server.sessions().length === 0, 'the expiry of the bystander');
    expect(bystander.isClosed).toBe(false);
    server.heal();
    await expect(unanswered).rejects.toBeInstanceOf(ConnectionEndedError);
  });

  it('refuse connections and admit them again', async () => {
    const server = await start();
    const session = await connect(server, { sessionTimeoutMs: 900 });
    server.refuse();
    const refused = await RawConnection.open(server.port);
    await refused.closed;
    expect(await session.exists('/')).toBeDefined();
    const resumed = nextEvent(session, 'resumed');
    server.dropConnections();
    await nextEvent(session, 'suspended');
    server.admit();
    await resumed;
  });

  it('crash and come back at the same port, with its nodes and sessions', async () => {
    const server = await start();
    const session = await connect(server);
    await session.create('/mine', { mode: 'ephemeral' });
    const [suspended, resumed] = [nextEvent(session, 'suspended'), nextEvent(session, 'resumed')];
    await server.crash();
    await suspended;
    await expect(server.crash()).rejects.toMatchObject({ code: 'INVALID_STATE' });
    await server.restart();
    await resumed;
    expect(await session.exists('/mine')).toBeDefined();
    await server.stop();
    await expect(server.restart()).rejects.toMatchObject({ code: 'INVALID_STATE' });
  });

  it('crash it, and end other faults meanwhile: no session ends before it is back, and no timer stays after the stop', async () => {
    const clock = new TestClock();
    const server = await start({ clock, tickMs: 500 });
    const client = await RawClient.connect(server.port);
    await client.do(create('/mine', EPHEMERAL));
    server.partition();
    await server.crash();
    server.heal();
    await clock.advance(60_000);
    expect(server.sessionOf('/mine')?.isAlive).toBe(true);
    await server.restart();
    await server.stop();
    server.clearFaults();
    expect(clock.timerCount).toBe(0);
  });

  it('come back without their data, and give no session id again', async () => {
    const server = await start();
    const client = await RawClient.connect(server.port);
    await client.do(create('/mine', EPHEMERAL));
    const [former] = server.sessions();
    await server.crash();
    await expect(server.restart({ empty: 1 } as never)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await server.restart({ empty: true });
    await RawClient.connect(server.port);
    const [next, ...more] = server.sessions();
    expect(more).toEqual([]);
    expect(next?.id).toBeGreaterThan(former?.id as bigint);
    expect(former).toMatchObject({ isAlive: false, isConnected: false, ephemerals: [] });
    expect(server.data('/mine')).toBeUndefined();
  });

  it('replace the users of SASL: clients that have authenticated go on', async () => {
    const server = await start({ saslUsers: { worker: 'first', leaver: 'secret' } });
    const [worker, leaver] = [await RawClient.connect(server.port), await RawClient.connect(server.port)];
    await authenticate(worker, { username: 'worker', password: 'first' });
    await authenticate(leaver, { username: 'leaver', password: 'secret' });
    server.setSaslUsers({ worker: 'second' });
    for (const client of [worker, leaver])
      expect(await client.errorOf(create(`/of-${client.id}`, { acl: CREATOR_ALL }))).toBe(ERROR.none);
    const answers = [
      ['worker', 'first', ERROR.authFailed],
      ['leaver', 'secret', ERROR.authFailed],
      ['worker', 'second', ERROR.none],
    ] as const;
    for (const [username, password, error] of answers)
      expect(await authenticate(await RawClient.connect(server.port), { username, password })).toMatchObject({
        error,
      });
    expect(() => server.setSaslUsers({ worker: '' })).toThrow(InvalidOptionError);
  });

  it('let it take SASL later, and lose its data but not its users', async () => {
    const server = await start();
    server.setSaslUsers({ worker: 'secret' });
    await server.crash();
    await server.restart({ empty: true });
    const client = await RawClient.connect(server.port);
    expect((await authenticate(client, { username: 'worker', password: 'secret' })).error).toBe(ERROR.none);
    expect(server.count('sasl')).toBe(2);
  });

  it('fail an authentication, which ends the connection', async () => {
    const server = await start({ saslUsers: { worker: 'secret' } });
    for (const [operation, name] of [
      [sasl(''), 'sasl'],
      [auth('digest', 'a:b'), 'auth'],
    ] as const) {
      server.failWith('AUTH_FAILED', { operation: name, times: 1 });
      const client = await RawClient.connect(server.port);
      expect(await client.ask<unknown>(operation)).toMatchObject({ error: ERROR.authFailed, zxid: 0n });
      await client.closed;
      expect(server.sessions().some(({ id }) => id === client.id)).toBe(true);
    }
  });

  it('fail a request as servers do that require authentication, which ends the connection', async () => {
    const server = await start();
    server.failWith('SESSION_CLOSED_REQUIRE_SASL_AUTH', { operation: 'ping' });
    const client = await RawClient.connect(server.port);
    expect(await client.errorOf(ping())).toBe(ERROR.authenticationRequired);
    await client.closed;
  });

  it('set the number of the next child', async () => {
    const server = await start();
    const client = await RawClient.connect(server.port);
    await client.do(create('/queue'));
    server.setNextSequence('/queue', 2 ** 31 - 1);
    for (const name of ['a-', 'b-']) await client.do(create(`/queue/${name}`, { mode: MODE.sequential }));
    expect(server.paths('/queue')).toEqual(['/queue', '/queue/a-2147483647', '/queue/b-2147483647']);
    expect(() => server.setNextSequence('/queue', 2 ** 31)).toThrow(InvalidOptionError);
    expect(() => server.setNextSequence('/none', 1)).toThrow(InvalidOptionError);
  });

  it('count its requests and events, and reset the counts', async () => {
    const server = await start();
    const client = await RawClient.connect(server.port);
    await client.do(create('/a'));
    await client.do(getData('/a', true));
    await client.do(setData('/a', 'x'));
    expect(client.order).toEqual([1, 2, 'changed /a', 3]);
    const [session] = server.sessions();
    expect(server.requests.map(({ operation, paths }) => [operation, ...paths])).toEqual([
      ['connect'],
      ['create', '/a'],
      ['getData', '/a'],
      ['setData', '/a'],
    ]);
    expect(server.requests.every((request) => request.session === session)).toBe(true);
    expect(server.events).toMatchObject([{ type: 'changed', path: '/a', session }]);
    expect([server.count(), server.count('create'), server.countEvents('changed')]).toEqual([4, 1, 1]);
    server.resetCounts();
    expect([server.count(), server.countEvents(), server.requests.length]).toEqual([0, 0, 0]);
  });
});

describe('what a hostile client sends', () => {
  const anyBytes = fc.uint8Array({ maxLength: 120 }).map((bytes) => Buffer.from(bytes));
  const anyType = fc.constantFrom(...Array(23).keys(), 100, 101, 102, 103, 104, 105, 106, 107, -11, -1, 999);
  const nearly = fc
    .tuple(fc.integer(), anyType, fc.array(fc.tuple(fc.nat(60), hostileNumber), { maxLength: 3 }))
    .map(([xid, type, changes]) => {
      const body = Buffer.concat([create('/fuzz', { data: 'data' }).body, Buffer.alloc(20)]);
      for (const [at, value] of changes) int(value).copy(body, Math.min(at, body.length));
      return framed(new Writer().int(xid).int(type).raw(body).done());
    });
  const hostile = fc.oneof(
    { weight: 4, arbitrary: nearly },
    fc.tuple(hostileNumber, anyBytes).map(([length, bytes]) => new Writer().int(length).raw(bytes).done()),
    anyBytes,
  );

  it('ends its own connection at worst: the server goes on serving other clients', async () => {
    const server = await start({ tickMs: 1000 });
    const witness = await RawClient.connect(server.port);
    await witness.do(create('/witness', EPHEMERAL));
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(hostile, { maxLength: 8 }), async (greets, chunks) => {
        const attacker = await RawConnection.open(server.port);
        if (greets) await RawClient.over(attacker);
        attacker.onFrame = () => undefined; // A reply may have the number of any packet, also of an event.
        for (const chunk of chunks) attacker.write(chunk);
        attacker.end();
        await attacker.closed;
        expect(await witness.errorOf(getData('/witness'))).toBe(ERROR.none);
      }),
      { numRuns: 300 },
    );
    expect(server.sessionOf('/witness')?.isConnected).toBe(true);
    await until(() => server.connectionCount === 1);
  });
});

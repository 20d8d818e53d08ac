import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BadVersionError, NoNodeError, SessionClosedError, SessionExpiredError } from '../../src/errors.js';
import { LockNode } from '../../src/lease/own-node.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { type Environment, systemEnvironment } from '../../src/platform/injected-environment.js';
import { Session } from '../../src/session/session.js';
import { freePort } from '../../tools/ports.mjs';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import {
  connectString,
  inOrder,
  openProxied,
  openSession,
  openWithPath,
  uniquePath,
} from '../support/conclave/sessions.js';
import { eventAfter, nextEvent, recordEvents } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { loggerOfWarnings, recordingLogger } from '../support/recording-logger.js';
import { until } from '../support/waiting.mjs';
import { startFakeServer } from '../support/wire/start-fake-server.js';

const EVENTS = ['suspended', 'resumed', 'expired', 'closed', 'error'];

describe('a session', () => {
  it('is connected, with the session timeout that was agreed and a third of it for a lease', async () => {
    const session = await openSession({ sessionTimeoutMs: 3000 });
    expect(session.state).toEqual({ name: 'connected' });
    expect(session.sessionTimeoutMs).toBe(3000);
    expect(session.leaseMs).toBe(1000);
  });

  it('works with what the server grants when it asked for more or for less', async () => {
    const short = await openSession({ sessionTimeoutMs: 150, leaseMs: 100.5 });
    expect(short.sessionTimeoutMs).toBeGreaterThan(150);
    expect(short.leaseMs).toBe(100.5);
    const long = await openSession({ sessionTimeoutMs: 10_000_000, leaseMs: 9_000_000 });
    expect(long.sessionTimeoutMs).toBeLessThan(10_000_000);
    expect(long.leaseMs).toBe(long.sessionTimeoutMs / 3);
  });

  it('warns once of a session timeout that the servers do not grant, not at every connection', async () => {
    const { warnings, logger } = loggerOfWarnings();
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 100, logger });
    await eventAfter(session, 'resumed', () => proxy.dropConnections());
    expect(warnings.filter((message) => message.includes('a different session timeout'))).toHaveLength(1);
  });

  it('creates, reads, writes, lists and deletes, with 64-bit numbers as bigint', async () => {
    const { session, path } = await openWithPath();
    const created = await session.create(path, { data: Buffer.from('one') });
    expect(created.value).toBe(path);
    const { data, stat } = await session.getData(path);
    expect(data.toString()).toBe('one');
    expect(stat.czxid).toBe(created.zxid);
    expect(session.owns(stat)).toBe(false);
    expect((await session.setData(path, Buffer.from('two'), 0)).version).toBe(1);
    const child = await session.create(`${path}/c-`, { mode: 'ephemeral-sequential' });
    expect(child.value).toBe(`${path}/c-0000000000`);
    expect(session.owns((await session.getData(child.value)).stat)).toBe(true);
    expect(await session.getChildren(path)).toEqual(['c-0000000000']);
    await session.remove(child.value);
    expect(await session.exists(child.value)).toBeUndefined();
    await session.remove(path);
    await expect(session.getData(path)).rejects.toBeInstanceOf(NoNodeError);
  });

  it('creates a node with its parents if it is missing, and leaves one that is there as it is', async () => {
    const session = await openSession();
    const path = `${uniquePath()}/app/cursor`;
    await session.createIfMissing(path, { data: Buffer.from('first') });
    await session.createIfMissing(path, { data: Buffer.from('second') });
    const { data, stat } = await session.getData(path);
    expect(data.toString()).toBe('first');
    expect(stat).toMatchObject({ version: 0, ephemeralOwner: 0n });
    const mode = session.createIfMissing(path, { mode: 'ephemeral' } as never);
    await expect(mode).rejects.toThrow('mode');
  });

  it('reports why a missing node can not be created', async () => {
    const { session, path } = await openWithPath();
    await session.create(path, { mode: 'ephemeral' });
    const child = session.createIfMissing(`${path}/child`);
    await expect(child).rejects.toMatchObject({ code: 'NO_CHILDREN_FOR_EPHEMERALS' });
  });

  it('checks version 0 in a transaction, which the bare client takes for any version', async () => {
    const { session, path } = await openWithPath();
    await session.create(path);
    await session.setData(path, Buffer.from('x'));
    const refused = session.commit([{ kind: 'delete', path, version: 0 }]);
    await expect(refused).rejects.toBeInstanceOf(BadVersionError);
    await expect(refused).rejects.toMatchObject({ path, code: 'BAD_VERSION', serverCode: -103 });
    expect(await session.exists(path)).toBeDefined();
  });

  it('gives a transaction all or nothing, with what each part did', async () => {
    const { session, path } = await openWithPath();
    const done = await session.commit([
      { kind: 'create', path },
      { kind: 'create', path: `${path}/a-`.slice(0, -1), mode: 'ephemeral' },
      { kind: 'set', path, data: Buffer.from('x'), version: 0 },
    ]);
    expect(done.value.map((part) => part.path)).toEqual([path, `${path}/a`, undefined]);
    expect(done.value[2]?.stat).toMatchObject({ version: 1, mzxid: done.zxid });
    const missing = session.commit([
      { kind: 'delete', path: `${path}/a` },
      { kind: 'check', path: `${path}/b` },
    ]);
    await expect(missing).rejects.toMatchObject({ code: 'NO_NODE', path: `${path}/b` });
    expect(await session.exists(`${path}/a`)).toBeDefined();
  });

  it('notifies of a change once all that asked, and not those that took it back', async () => {
    const { session, path } = await openWithPath();
    await session.create(path);
    const notified: string[] = [];
    const back = new AbortController();
    await session.getData(path, { onChange: () => notified.push('a') });
    await session.getData(path, { onChange: () => notified.push('b') });
    await session.getData(path, { onChange: () => notified.push('never'), signal: back.signal });
    back.abort();
    await session.setData(path, Buffer.from('1'));
    await session.setData(path, Buffer.from('2'));
    expect(notified).toEqual(['a', 'b']);
  });

  it('reports an onChange that throws, and keeps its connection', async () => {
    const session = await openSession();
    const events = recordEvents(session, ...EVENTS);
    const path = uniquePath();
    await session.create(path);
    const onChange = () => {
      throw new Error('not now');
    };
    await session.getData(path, { onChange });
    const reported = nextEvent(session, 'error');
    await session.remove(path);
    expect(await reported).toMatchObject([{ code: 'LISTENER_FAILED', event: 'onChange' }]);
    expect(await session.exists(path)).toBeUndefined();
    expect(events).toEqual(['error']);
  });

  it('keeps to its chroot, which it creates', async () => {
    const chroot = uniquePath('chroot');
    const inside = await openSession({}, `${connectString()}${chroot}/deep`);
    const outside = await openSession();
    const { value } = await inside.create('/a-', { mode: 'ephemeral-sequential' });
    expect(value).toBe('/a-0000000000');
    expect(await outside.getChildren(`${chroot}/deep`)).toEqual(['a-0000000000']);
    expect(await inside.getChildren('/')).toEqual(['a-0000000000']);
    let notified = false;
    await inside.getData(value, {
      onChange: () => {
        notified = true;
      },
    });
    await outside.remove(`${chroot}/deep/a-0000000000`);
    await until(() => notified);
  });

  it('reads several nodes with one request: of each what it has, or why it is refused', async () => {
    const [path, secret] = [uniquePath(), uniquePath('secret')];
    const alice = await openSession({ auth: { scheme: 'digest', credentials: 'alice:wonder' } });
    const bob = await openSession();
    await bob.create(path, { data: Buffer.from('open') });
    await alice.create(secret, { data: Buffer.from('x') });
    expect(await bob.getDataOfEach([path, secret, `${path}/missing`])).toEqual([
      await bob.getData(path),
      expect.objectContaining({ code: 'NO_AUTH', path: secret }),
      expect.objectContaining({ code: 'NO_NODE', path: `${path}/missing` }),
    ]);
    expect(await bob.getDataOfEach([])).toEqual([]);
    await Promise.all([alice.remove(secret), bob.remove(path)]);
  });

  it('logs neither credentials nor what would let others into the session', async () => {
    const { lines, logger } = recordingLogger();
    const { proxy, session } = await openProxied({
      logger,
      sessionTimeoutMs: 100_000,
      auth: { scheme: 'digest', credentials: 'alice:wonderland' },
    });
    await eventAfter(session, 'resumed', () => proxy.dropConnections());
    const path = uniquePath();
    const created = await session.create(`${path}-`, { mode: 'ephemeral-sequential' });
    const { stat } = await session.getData(created.value);
    await session.close();
    expect(lines.length).toBeGreaterThan(0);
    const text = JSON.stringify(lines);
    expect(text).not.toContain('wonderland');
    expect(text).not.toContain(String(stat.ephemeralOwner));
    expect(text).not.toContain(stat.ephemeralOwner.toString(16));
  });
});

describe('a session whose connection goes', () => {
  it('is suspended, resumes as the same session, and reports each once', async () => {
    const { proxy, session } = await openProxied();
    const events = recordEvents(session, ...EVENTS);
    const { value } = await session.create(`${uniquePath()}-`, { mode: 'ephemeral-sequential' });
    await eventAfter(session, 'suspended', () => proxy.cut());
    expect(session.state.name).toBe('suspended');
    const held = session.getData(value); // The session holds this back until it has a connection.
    await eventAfter(session, 'resumed', () => proxy.restore());
    expect(session.owns((await held).stat)).toBe(true);
    expect(events).toEqual(['suspended', 'resumed']);
  });

  it('writes what it was given, also where that changes while it is held back', async () => {
    const { proxy, session, path } = await openProxied();
    await session.create(path);
    await eventAfter(session, 'suspended', () => proxy.cut());
    const data = Buffer.from('as it was');
    const held = session.setData(path, data);
    const [part, committed] = [Buffer.from('in a transaction'), `${path}/part`];
    const commit = session.commit([{ kind: 'create', path: committed, data: part }]);
    data.fill('x');
    part.fill('x');
    proxy.restore();
    await Promise.all([held, commit]);
    expect((await session.getData(path)).data.toString()).toBe('as it was');
    expect((await session.getData(committed)).data.toString()).toBe('in a transaction');
  });

  it('rejects what was sent and not answered as lost', async () => {
    const { proxy, session, path } = await openProxied();
    const lost = proxy.loseReplyTo('create');
    await expect(session.create(path)).rejects.toMatchObject({ code: 'CONNECTION_LOSS', retryable: true });
    await lost;
    expect(await session.retryUntilAnswered(() => session.exists(path))).toBeDefined();
    await session.remove(path);
  });

  it('reported its next connection in the context of the work that had found the last one dead', async () => {
    const storage = new AsyncLocalStorage<string>();
    const proxy = await startProxy();
    const session = await storage.run('opening', () =>
      openSession({ sessionTimeoutMs: 1500 }, proxy.connectString),
    );
    const notified: unknown[] = [];
    for (const event of ['suspended', 'resumed'] as const)
      session.on(event, () => void notified.push(event, storage.getStore()));
    const resumed = nextEvent(session, 'resumed');
    // The heartbeats of the lock, which find the dead link, begin in this work context.
    await storage.run('working', () => new DistributedLock(session, uniquePath('context')).acquire());
    proxy.partition();
    await nextEvent(session, 'suspended');
    proxy.restore();
    await resumed;
    expect(notified).toEqual(['suspended', 'opening', 'resumed', 'opening']);
  });

  it('gives each operation up after the session timeout', async () => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 1000 });
    await eventAfter(session, 'suspended', () => proxy.cut());
    await expect(session.exists('/x')).rejects.toMatchObject({ code: 'OPERATION_TIMEOUT', sent: false });
  });

  it('expires, once, when it comes back too late; whatever waits on it rejects', async () => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 2000 });
    const observer = await openSession();
    const events = recordEvents(session, ...EVENTS);
    const { value, sentAt } = await session.create(`${uniquePath()}-`, { mode: 'ephemeral-sequential' });
    const own = LockNode.of(session, value, sentAt);
    proxy.cut();
    await until(async () => (await observer.exists(value)) === undefined, 'the expiry');
    const expired = nextEvent(session, 'expired');
    const waiting = expect(session.whenConnected()).rejects.toBeInstanceOf(SessionExpiredError);
    const operation = expect(session.exists('/x')).rejects.toBeInstanceOf(SessionExpiredError);
    proxy.restore();
    await expired;
    await Promise.all([waiting, operation]);
    expect(session.state).toEqual({ name: 'expired' });
    expect(session.signal.reason).toBeInstanceOf(SessionExpiredError);
    expect(own.signal.reason).toBeInstanceOf(SessionExpiredError);
    await expect(session.exists('/x')).rejects.toBeInstanceOf(SessionExpiredError);
    await session.close();
    expect(events.filter((event) => event !== 'error')).toEqual(['suspended', 'expired']);
  });
});

describe('opening a session', () => {
  it('fails with the reason of its signal', async () => {
    const abort = new AbortController();
    const connecting = Session.connect(`127.0.0.1:${await freePort()}`, { signal: abort.signal });
    abort.abort(new Error('never mind'));
    await expect(connecting).rejects.toThrow('never mind');
    await expect(Session.connect('127.0.0.1', { signal: AbortSignal.abort('no') })).rejects.toBe('no');
  });

  it('listens to the server that it turned to, also when its own process is blocked meanwhile', async () => {
    const blocked = new Int32Array(new SharedArrayBuffer(4));
    let opened = 0;
    const openSocket: Environment['openSocket'] = (...target) => {
      // Blocks for longer than the time for a server's handshake. When the event loop goes on, that time is over.
      if (++opened === 1) setImmediate(() => Atomics.wait(blocked, 0, 0, 1300));
      return systemEnvironment.openSocket(...target);
    };
    await openSession({ sessionTimeoutMs: 2000, environment: { ...systemEnvironment, openSocket } });
    expect(opened).toBe(1);
  });

  it('tries the next server when one accepts and stays silent', async () => {
    const silent = await startFakeServer({ handshake: () => undefined });
    const session = await openSession(
      { sessionTimeoutMs: 1500, environment: inOrder },
      `${silent.connectString},${connectString()}`,
    );
    expect(session.state.name).toBe('connected');
  });

  it('finds a server at an IPv6 address', async () => {
    const proxy = await startProxy(undefined, { host: '::1' });
    const session = await openSession({}, proxy.connectString);
    expect(proxy.connectString).toMatch(/^\[::1\]:\d+$/);
    expect(session.state.name).toBe('connected');
  });

  it('is not held up by a name server that does not answer', async () => {
    const resolve = () => new Promise<string[]>(() => undefined);
    const environment = { ...inOrder, resolve };
    const session = await openSession(
      { sessionTimeoutMs: 3000, environment },
      `zookeeper.example,${connectString()}`,
    );
    expect(session.state.name).toBe('connected');
  });

  it('waits for a server that appears later', async () => {
    const port = await freePort();
    const connecting = Session.connect(`127.0.0.1:${port}`, { connectTimeoutMs: Number.POSITIVE_INFINITY });
    const zookeeper = await startZooKeeper({ port });
    onTestFinished(zookeeper.stop);
    const session = await connecting;
    expect(session.state.name).toBe('connected');
    await session.close();
  });
});

describe('closing a session', () => {
  it('removes its ephemeral nodes at once, and settles as often as it is called', async () => {
    const session = await openSession();
    const observer = await openSession();
    const events = recordEvents(session, ...EVENTS);
    const { value } = await session.create(`${uniquePath()}-`, { mode: 'ephemeral-sequential' });
    await Promise.all([session.close(), session.close()]);
    expect(await observer.exists(value)).toBeUndefined();
    expect(session.state).toEqual({ name: 'closed' });
    expect(session.signal.reason).toBeInstanceOf(SessionClosedError);
    await expect(session.exists('/')).rejects.toBeInstanceOf(SessionClosedError);
    await session.close();
    expect(events).toEqual(['closed']);
  });

  it('ends the session also when it is suspended and a server comes back in time', async () => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 30_000 });
    const observer = await openSession();
    const { value } = await session.create(`${uniquePath()}-`, { mode: 'ephemeral-sequential' });
    await eventAfter(session, 'suspended', () => proxy.cut());
    const closing = session.close();
    proxy.restore();
    await closing;
    expect(await observer.exists(value)).toBeUndefined();
  });

  it('resolved at once, before any server could know, in a listener of its own end', async () => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 30_000 });
    const settled: string[] = [];
    const closings: Promise<unknown>[] = [];
    const closeAs = (who: string) => closings.push(session.close().then(() => settled.push(who)));
    session.once('closed', () => void closeAs('listener of closed'));
    session.signal.addEventListener('abort', () => void closeAs('listener of the signal'), { once: true });
    proxy.partition();
    const closing = session.close({ timeoutMs: 100 });
    expect(closings).toHaveLength(2);
    await new Promise((resolve) => setImmediate(resolve));
    expect(settled).toEqual([]);
    await Promise.all([closing, ...closings]);
  });
});

import type { Socket } from 'node:net';
import { join } from 'node:path';
import { execaNode } from 'execa';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { type Candidate, serializeCandidate } from '../../src/election/candidates/candidate.js';
import type { LeaderElectorOptions } from '../../src/election/elector-options.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { ElectionObserver } from '../../src/election/observer/election-observer.js';
import { serializeRecord } from '../../src/election/record/election-record.js';
import {
  AuthenticationError,
  InvalidStateError,
  NoServerError,
  SessionClosedError,
} from '../../src/errors.js';
import { type Environment, systemEnvironment } from '../../src/platform/injected-environment.js';
import { heartbeatPathOf } from '../../src/queue/names-and-order.js';
import type { AccessEntry } from '../../src/session/protocol/acl.js';
import type { NodeData } from '../../src/session/protocol/multi-and-stats.js';
import type { Session } from '../../src/session/session.js';
import { freePort } from '../../tools/ports.mjs';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { fourLetterWord } from '../../tools/zookeeper/four-letter-word.mjs';
import {
  observe,
  oneAfterTheOther,
  record,
  servedLate,
  shown,
  showsId,
  startLeader,
} from '../support/conclave/observers.js';
import {
  connectString,
  openProxied,
  openSession,
  openWithPath,
  uniquePath,
} from '../support/conclave/sessions.js';
import { errorsOf, eventAfter, nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { SILENT } from '../support/silent-logger.mjs';
import { endsWithTest } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';
import { openAdminClient } from '../support/wire/admin-client.js';

/** Resolves when the observer's iterators end. */
async function ended(observer: ElectionObserver): Promise<void> {
  const iterator = observer[Symbol.asyncIterator]();
  while (!(await iterator.next()).done);
}

/** The sessions that have a watch at this path, as the shared server names them. */
async function watchersOf(path: string): Promise<string[]> {
  const answer = await fourLetterWord(inject('port') as number, 'wchp');
  const paths = answer
    .split('\n/')
    .find((lines) => `/${lines}`.startsWith(`${path}\n`) || lines.startsWith(`${path}\n`));
  return (paths ?? '')
    .split('\n\t')
    .slice(1)
    .map((id) => id.trim());
}

/** The only session that has a watch at this path. */
async function sessionWatching(path: string): Promise<string> {
  let watchers: string[] = [];
  const search = async () => {
    watchers = await watchersOf(path);
    return watchers.length > 0;
  };
  await until(search, 'the watch');
  expect(watchers).toHaveLength(1);
  return watchers[0] as string;
}

/** Resolves when the shared server has no such session any more. */
function untilExpired(id: string): Promise<void> {
  const gone = async () => !(await fourLetterWord(inject('port') as number, 'dump')).includes(id);
  return until(gone, 'the expiry');
}

/** A leader, and an observer of its election with that session. */
async function observeLeader(session?: Session, options: LeaderElectorOptions = {}) {
  const path = uniquePath('observed');
  const elector = await startLeader(await openSession(), path, { id: 'one', ...options });
  return { path, elector, ...(await observe(session ?? (await openSession()), path)) };
}

/** Starts an observer, and records the paths that it reads. */
async function observeReads(session: Session, path: string) {
  const asked: string[] = [];
  const readAndWatch = session.readAndWatch.bind(session);
  session.readAndWatch = (node, watcher) => {
    asked.push(node);
    return readAndWatch(node, watcher);
  };
  session.getChildren = () => Promise.reject(new Error('the list is not needed'));
  return { asked, ...(await observe(session, path)) };
}

describe('an observer', () => {
  it('shows the leaders over five resignations, each once and in order, and none in the end', async () => {
    const path = uniquePath('observed');
    const electors = [await startLeader(await openSession(), path, { id: 'e0' })];
    for (const id of ['e1', 'e2']) {
      const elector = new LeaderElector(await openSession(), path, { id });
      await elector.start();
      electors.push(elector);
    }
    const { observer, changes, errors } = await observe(await openSession(), path);
    expect(observer.leader).toMatchObject({ id: 'e0', position: 0 });
    for (let round = 1; round <= 5; round++) {
      await electors[(round - 1) % 3]?.resign();
      expect(await showsId(observer, `e${round % 3}`)).toEqual(await electors[0]?.leader());
    }
    // The candidates stop one after the other, the waiting ones first, so that none of them leads any more.
    for (const index of [0, 1, 2]) await electors[index]?.stop();
    await showsId(observer, undefined);
    expect(changes.filter((id) => id !== undefined)).toEqual(['e0', 'e1', 'e2', 'e0', 'e1', 'e2']);
    expect(changes.filter((id, index) => index > 0 && id === changes[index - 1])).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("shows no leader from when the leader's node is deleted until it leads again", async () => {
    const { path, observer, changes } = await observeLeader();
    const former = observer.leader as Candidate;
    const stranger = await openSession();
    await stranger.remove(`${path}/${former.node}`);
    await shown(observer, (leader) => leader !== undefined && leader.node !== former.node);
    expect(changes).toEqual(['one', undefined, 'one']);
  });

  it('shows what the leader advertises when that changes, and nothing when it says the same again', async () => {
    const { elector, observer } = await observeLeader(undefined, { data: 'first' });
    const seen: unknown[] = [];
    observer.on('change', (leader) => void seen.push(leader?.data));
    const { leader } = observer;
    expect(leader?.data).toBe('first');
    await elector.advertise('first');
    await elector.advertise('second');
    await shown(observer, (now) => now?.data === 'second');
    await elector.advertise(new Uint8Array([1, 2]));
    await shown(observer, (now) => now?.data instanceof Uint8Array);
    expect(seen).toEqual(['second', new Uint8Array([1, 2])]);
    expect(observer.leader).toEqual({ ...leader, data: new Uint8Array([1, 2]) });
  });

  it('waits for an election that is missing, without creating it, and for one that was deleted', async () => {
    const { session, path } = await openWithPath('observed');
    const { observer, changes } = await observe(session, path);
    expect(observer.leader).toBeUndefined();
    expect(await session.exists(path)).toBeUndefined();
    for (const id of ['one', 'two']) {
      const elector = await startLeader(await openSession(), path, { id });
      await showsId(observer, id);
      await elector.stop();
      await showsId(observer, undefined);
      await session.remove(path);
    }
    expect(changes).toEqual(['one', undefined, 'two', undefined]);
  });

  it.each([
    ['says held, by a node that is gone', (node: string) => heldBy(node)],
    ['can not be read', () => Buffer.from('<html>')],
  ])('shows no leader while the record %s', async (_, data) => {
    const { session, path } = await openWithPath('observed');
    await session.create(path, { data: data('_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000000') });
    const { observer, changes } = await observe(session, path);
    expect(observer.leader).toBeUndefined();
    await startLeader(session, path, { id: 'one' });
    await showsId(observer, 'one');
    expect(changes).toEqual(['one']);
  });

  it('reads two nodes at each look, however many are in the queue', async () => {
    const path = uniquePath('observed');
    await startLeader(await openSession(), path);
    for (let count = 0; count < 5; count++) await new LeaderElector(await openSession(), path).start();
    const { asked, observer } = await observeReads(await openSession(), path);
    expect(asked).toEqual([path, `${path}/${observer.leader?.node}`]);
  });

  it('shows a takeover as one change, and reads no heartbeat node', async () => {
    const path = uniquePath('observed');
    const options = { sessionTimeoutMs: 20_000, leaseMs: 600 };
    const proxy = await startProxy();
    const one = await startLeader(await openSession(options, proxy.connectString), path, { id: 'one' });
    const two = new LeaderElector(await openSession(options), path, { id: 'two' });
    await two.start();
    const session = await openSession();
    const { asked, observer, changes } = await observeReads(session, path);
    const heartbeat = heartbeatPathOf(`${path}/${observer.leader?.node}`);
    const beats = async () => ((await session.exists(heartbeat))?.version ?? 0) >= 3;
    await until(beats, 'some heartbeats');
    const read = [path, `${path}/${observer.leader?.node}`];
    expect(asked).toEqual(read);
    proxy.partition();
    const leader = await showsId(observer, 'two');
    // There is no `undefined` in between, because one transaction deletes the former leader's node and names the next leader.
    expect(changes).toEqual(['one', 'two']);
    expect(asked).toEqual([...read, path, `${path}/${leader?.node}`]);
    proxy.restore();
    await Promise.all([one.stop(), two.stop()]);
  });

  it('calls listeners that throw or stop it without harm, and reports what they throw', async () => {
    const path = uniquePath('observed');
    await startLeader(await openSession(), path, { id: 'one' });
    const observer = new ElectionObserver(await openSession(), path);
    const errors = errorsOf(observer);
    observer.on('change', () => {
      throw new Error('broken');
    });
    observer.on('change', () => observer.stop());
    const changes = record(observer);
    await observer.start();
    expect(errors).toMatchObject([{ code: 'LISTENER_FAILED', event: 'change' }]);
    expect(changes).toEqual(['one']);
    expect(observer.leader).toBeUndefined();
  });
});

function heldBy(node: string): Buffer {
  return serializeRecord({ state: 'held', term: 7, id: 'dead', node, leaseMs: 500 });
}

describe('an observer with a session', () => {
  it.each(['expires', 'is closed'])('ends when that %s: it knows of no leader then', async (end) => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 1500 });
    const { path, observer, changes, errors } = await observeLeader(session);
    const iterated: (string | undefined)[] = [];
    const loop = (async () => {
      for await (const leader of observer) iterated.push(leader?.id);
    })();
    if (end === 'expires') {
      const id = await sessionWatching(path);
      proxy.cut();
      await untilExpired(id);
      proxy.restore();
    } else await session.close();
    await loop;
    expect(iterated).toEqual(['one', undefined]);
    expect(changes).toEqual(['one', undefined]);
    expect(errors).toEqual([]);
    await expect(observer.start()).rejects.toBeInstanceOf(InvalidStateError);
  });

  it('does not start when that is over', async () => {
    const session = await openSession();
    await session.close();
    const observer = new ElectionObserver(session, uniquePath('observed'));
    await expect(observer.start()).rejects.toBeInstanceOf(SessionClosedError);
    await expect(observer.start()).rejects.toBeInstanceOf(InvalidStateError);
  });

  it('keeps the leader while the connection is lost, and shows what happened meanwhile', async () => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 20_000 });
    const { path, elector, observer, changes } = await observeLeader(session);
    await eventAfter(session, 'suspended', () => proxy.cut());
    expect(observer.leader?.id).toBe('one');
    await elector.stop();
    await startLeader(await openSession(), path, { id: 'two' });
    expect(observer.leader?.id).toBe('one');
    proxy.restore();
    await showsId(observer, 'two');
    expect(changes.filter((id) => id !== undefined)).toEqual(['one', 'two']);
  });

  it('claims to know nothing after a session timeout without a server, and looks again when there is one', async () => {
    const port = await freePort();
    const zookeeper = endsWithTest(await startZooKeeper({ port }));
    const [server] = zookeeper.servers;
    const session = await openSession({ sessionTimeoutMs: 3000 }, zookeeper.connectString);
    const node = '_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000000';
    await session.create('/observed', { data: heldBy(node) });
    const mode = 'ephemeral'; // The session outlives the server's absence, and the node does, too.
    await session.create(`/observed/${node}`, {
      mode,
      data: serializeCandidate('one', undefined),
    });
    const { observer, changes } = await observe(session, '/observed');
    await server?.stop();
    await showsId(observer, undefined);
    expect(session.signal.aborted).toBe(false); // The server's absence hasn't ended the session.
    await server?.start();
    await showsId(observer, 'one');
    expect(changes).toEqual(['one', undefined, 'one']);
  });
});

describe('an observer with a connect string', () => {
  it('goes on with a new session when one expires, and closes the last one', async () => {
    const path = uniquePath('observed');
    await startLeader(await openSession(), path, { id: 'one' });
    const proxy = await startProxy();
    const { observer, changes, errors } = await observe(proxy.connectString, path, {
      session: { sessionTimeoutMs: 1500 },
    });
    const first = await sessionWatching(path);
    proxy.cut();
    await untilExpired(first);
    await showsId(observer, undefined);
    proxy.restore();
    await showsId(observer, 'one');
    const second = await sessionWatching(path);
    expect(second).not.toBe(first);
    await observer.stop();
    await untilExpired(second);
    expect(changes).toEqual(['one', undefined, 'one']);
    for (const error of errors) expect(error).toBeInstanceOf(NoServerError); // For longer than a lease.
  });

  it('waits for the first server, however long that takes', async () => {
    const port = await freePort();
    const session = { connectTimeoutMs: 100 };
    const observer = new ElectionObserver(`127.0.0.1:${port}`, '/observed', { session });
    onTestFinished(() => observer.stop());
    const starting = observer.start();
    const zookeeper = endsWithTest(await startZooKeeper({ port }));
    await starting;
    await startLeader(await openSession({}, zookeeper.connectString), '/observed', {
      id: 'one',
    });
    await showsId(observer, 'one');
    await observer.stop();
  });

  it('goes on, and says so, when the servers refuse its credentials later; at the start it ends', async () => {
    const users = (password: string) => ({ alice: password });
    const server = await startEmbedded({ saslUsers: users('wonder') });
    const session = { sasl: { username: 'alice', password: 'wonder' }, logger: SILENT };
    const { observer } = await observe(server.connectString, '/observed', { session });
    const failed = nextEvent(observer, 'error');
    server.setSaslUsers(users('changed'));
    await expect(
      new ElectionObserver(server.connectString, '/observed', { session }).start(),
    ).rejects.toBeInstanceOf(AuthenticationError);
    server.expireSession(() => true);
    expect(await failed).toMatchObject([
      {
        code: 'NO_SERVER',
        cause: { code: 'AUTHENTICATION_FAILED', message: expect.stringContaining('-115') },
      },
    ]);
    server.setSaslUsers(users('wonder'));
    await startLeader(await openSession(session, server.connectString), '/observed', { id: 'one' });
    await showsId(observer, 'one');
  });

  it('can be disposed of while there is no server', async () => {
    const observer = new ElectionObserver(`127.0.0.1:${await freePort()}`, '/observed');
    const starting = observer.start();
    await observer[Symbol.asyncDispose]();
    await expect(starting).rejects.toBeInstanceOf(InvalidStateError);
  });
});

describe('an observer with a supervisor', () => {
  it('goes on with its next session, and ends when it stops', async () => {
    const path = uniquePath('observed');
    const proxy = await startProxy();
    const supervisor = new ElectionSupervisor({
      connect: proxy.connectString,
      path,
      id: 'one',
      session: { sessionTimeoutMs: 1500 },
      retry: { minTimeout: 10, maxTimeout: 50 },
    });
    onTestFinished(() => supervisor.stop());
    const observer = new ElectionObserver(supervisor, path);
    const [changes, errors] = [record(observer), [] as Error[]];
    observer.on('error', (error) => void errors.push(error));
    const starting = observer.start(); // The observer has no session yet.
    await supervisor.start();
    await starting;
    const former = await showsId(observer, 'one');
    const session = await supervisor.session();
    const stranger = await openSession();
    const expired = nextEvent(supervisor, 'expired');
    proxy.cut();
    await until(async () => (await stranger.getChildren(path)).length === 0, 'the expiry');
    proxy.restore();
    await expired;
    const next = await shown(observer, (leader) => leader !== undefined && leader.node !== former?.node);
    expect(next?.id).toBe('one');
    expect(await supervisor.session()).not.toBe(session);
    await supervisor.stop();
    await ended(observer);
    expect(changes).toEqual(['one', undefined, 'one', undefined]);
    expect(errors).toEqual([]);
    await expect(supervisor.session()).rejects.toBeInstanceOf(InvalidStateError);
  });

  it('that has stopped already does not start', async () => {
    const supervisor = new ElectionSupervisor({ connect: connectString(), path: '/observed' });
    await supervisor.stop();
    const observer = new ElectionObserver(supervisor, '/observed');
    await expect(observer.start()).rejects.toBeInstanceOf(InvalidStateError);
  });
});

describe('an observer whose next session is served by a server that is behind', () => {
  async function readNow(session: Session, paths: readonly string[]): Promise<Map<string, NodeData | Error>> {
    const read = (path: string) => session.getData(path).catch((error: Error) => error);
    return new Map(await Promise.all(paths.map(async (path) => [path, await read(path)] as const)));
  }

  it.each(['another led', 'it advertised something else', 'the election was missing'])(
    'does not go back to when %s',
    async (then) => {
      const path = uniquePath('observed');
      const [stranger, first, second] = [await openSession(), await openSession(), await openSession()];
      let elector: LeaderElector | undefined;
      if (then !== 'the election was missing')
        elector = await startLeader(stranger, path, { id: 'one', data: 'first' });
      const node = (await elector?.leader())?.node;
      const before = await readNow(stranger, [path, `${path}/${node}`]);
      if (then === 'it advertised something else') await elector?.advertise('second');
      else {
        await elector?.stop();
        await startLeader(stranger, path, { id: 'two', data: 'second' });
      }
      const { observer } = await observe(oneAfterTheOther(first, second), path);
      const seen: unknown[] = [];
      observer.on('change', (leader) => void seen.push(leader?.data));
      const server = servedLate(second, before);
      await first.close();
      await shown(observer, (leader) => leader?.data === 'second');
      expect(seen).toEqual([undefined, 'second']);
      expect(server.caughtUp).toBe(true);
    },
  );

  it('does not show the leader of an election that was deleted', async () => {
    const path = uniquePath('observed');
    const [stranger, first, second] = [await openSession(), await openSession(), await openSession()];
    const elector = await startLeader(stranger, path, { id: 'one' });
    const { observer, changes } = await observe(oneAfterTheOther(first, second), path);
    const before = await readNow(stranger, [path, `${path}/${observer.leader?.node}`]);
    await elector.stop();
    await stranger.remove(path);
    await showsId(observer, undefined);
    const server = servedLate(second, before);
    await first.close();
    await until(() => server.caughtUp);
    await startLeader(stranger, path, { id: 'two' });
    await showsId(observer, 'two');
    expect(changes).toEqual(['one', undefined, 'two']);
  });
});

describe('the iterator of an observer', () => {
  it('gives the leader of now, then every change, to each loop for itself', async () => {
    const { session, path } = await openWithPath('observed');
    const observer = new ElectionObserver(await openSession(), path);
    const early = observer[Symbol.asyncIterator]();
    await observer.start();
    const elector = await startLeader(session, path, { id: 'one' });
    await showsId(observer, 'one');
    const late = observer[Symbol.asyncIterator]();
    await elector.stop();
    await showsId(observer, undefined);
    await observer.stop();
    const ids = async (iterator: AsyncIterable<Candidate | undefined>) => {
      const given: (string | undefined)[] = [];
      for await (const leader of iterator) given.push(leader?.id);
      return given;
    };
    expect(await ids(early)).toEqual([undefined, 'one', undefined]);
    expect(await ids(late)).toEqual(['one', undefined]);
    expect(await ids(observer)).toEqual([]);
  });

  it('ends when the loop is left, and the observer goes on', async () => {
    const { elector, observer } = await observeLeader();
    for await (const leader of observer) {
      expect(leader?.id).toBe('one');
      break;
    }
    expect(observer.leader?.id).toBe('one');
    await elector.stop();
    await showsId(observer, undefined);
  });

  it('ends without an error when the observer never had a look', async () => {
    const observer = new ElectionObserver(await openSession(), uniquePath('observed'));
    const next = observer[Symbol.asyncIterator]().next();
    await observer.stop();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});

describe('an observer that is stopped', () => {
  it.each([
    'a leader seen with a session',
    'an election that is missing',
    'a supervisor that goes on',
    'no supervisor yet',
    'no server in reach',
    'the connection lost',
    'a running iteration',
  ])('leaves nothing that keeps the process alive: %s', async (situation) => {
    const { stdout, exitCode } = await execaNode(
      join(import.meta.dirname, '../fixtures/stop-observer.mjs'),
      [connectString(), uniquePath('observed'), situation],
      { timeout: 20_000 },
    );
    expect(stdout).toBe('stopped');
    expect(exitCode).toBe(0);
  });

  it('looks no more, and leaves its session open with no listener on it and nothing watched', async () => {
    const { proxy, session } = await openProxied();
    const { path, elector, observer, changes } = await observeLeader(session);
    await elector.advertise('something else');
    await shown(observer, (leader) => leader?.data === 'something else');
    const listeners = () => session.listenerCount('suspended') + session.listenerCount('resumed');
    expect(listeners()).toBe(2);
    expect(await watchersOf(path)).toHaveLength(1);
    await Promise.all([observer.stop(), observer.stop()]);
    expect(listeners()).toBe(0);
    await session.exists(path); // Answered after the watches were taken back.
    expect(await watchersOf(path)).toEqual([]);
    await eventAfter(session, 'resumed', () => proxy.dropConnections()); // The session has set its remaining watches again, at the server of the new connection.
    expect(await session.exists(path)).toBeDefined();
    expect(await watchersOf(path)).toEqual([]);
    await elector.stop();
    await session.exists(path); // The server has sent this session all notifications of that.
    expect(changes).toEqual(['one', 'one']);
    expect(observer.leader).toBeUndefined();
    expect(session.state.name).toBe('connected');
  });

  it('at any moment settles, and rejects start', async () => {
    const { session, path } = await openWithPath('observed');
    await startLeader(session, path);
    for (let moment = 0; moment < 15; moment++) {
      const observer = new ElectionObserver(session, path);
      const starting = observer.start().catch((error: unknown) => error);
      for (let turn = 0; turn < moment; turn++) await new Promise((resolve) => setImmediate(resolve));
      await observer.stop();
      const outcome = await starting;
      if (outcome !== undefined) expect(outcome).toBeInstanceOf(InvalidStateError);
      await expect(observer.start()).rejects.toBeInstanceOf(InvalidStateError);
    }
    expect(session.listenerCount('suspended')).toBe(0);
  });

  it('at the very moment when its session is open closes that', async () => {
    const CONNECT_TIMEOUT_MS = 12_345;
    const sockets: Socket[] = [];
    const { clock } = systemEnvironment;
    let stopped: Promise<void> | undefined;
    const environment: Environment = {
      ...systemEnvironment,
      openSocket: (...target) => {
        const socket = systemEnvironment.openSocket(...target);
        sockets.push(socket);
        return socket;
      },
      clock: {
        now: () => clock.now(),
        date: () => clock.date(),
        after: (ms, task, options) => {
          const timer = clock.after(ms, task, options);
          const stopToo = () => {
            timer.clear();
            stopped ??= observer.stop();
          };
          return ms === CONNECT_TIMEOUT_MS ? { clear: stopToo } : timer; // The session clears it when it has connected.
        },
      },
    };
    const session = { environment, connectTimeoutMs: CONNECT_TIMEOUT_MS };
    const observer = new ElectionObserver(connectString(), uniquePath('observed'), { session });
    await expect(observer.start()).rejects.toBeInstanceOf(InvalidStateError);
    await stopped;
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true]);
  });

  it('settles at once while its look waits for a server', async () => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 30_000 });
    await eventAfter(session, 'suspended', () => proxy.cut());
    const observer = new ElectionObserver(session, uniquePath('observed'));
    const starting = observer.start();
    await new Promise((resolve) => setImmediate(resolve)); // The look is under way.
    await observer.stop();
    await expect(starting).rejects.toBeInstanceOf(InvalidStateError);
    expect(session.state.name).toBe('suspended');
  });
});

describe('an observer that may not read', () => {
  const alice = { scheme: 'digest', credentials: 'alice:wonder' };

  it('does not start, and says why', async () => {
    const path = uniquePath('observed');
    await startLeader(await openSession({ auth: alice }), path, { id: 'one' });
    const session = await openSession();
    const observer = new ElectionObserver(session, path);
    await expect(observer.start()).rejects.toMatchObject({ code: 'NO_AUTH', path });
    await expect(observer.start()).rejects.toBeInstanceOf(InvalidStateError);
    expect(session.listenerCount('suspended')).toBe(0);
    const { observer: allowed } = await observe(connectString(), path, { session: { auth: alice } });
    expect(allowed.leader?.id).toBe('one');
  });

  it('any more reports that, shows no leader, and looks again until it may', async () => {
    const path = uniquePath('observed');
    const elector = await startLeader(await openSession({ auth: alice }), path, { id: 'one' });
    const node = `${path}/${(await elector.leader())?.node}`;
    await grant('all may read', [path, node]);
    const { observer, changes } = await observe(await openSession(), path);
    await grant('its owner only', [path]);
    const refused = nextEvent(observer, 'error');
    await elector.advertise('something else'); // A change of an access list fires no watch. The next look shows it.
    expect(await refused).toMatchObject([{ code: 'NO_AUTH', path }]);
    expect(observer.leader).toBeUndefined();
    await grant('all may read', [path]);
    await shown(observer, (leader) => leader?.data === 'something else');
    expect(changes).toEqual(['one', undefined, 'one']);
  });

  it('but read needs no other right, also to make a server catch up', async () => {
    const path = uniquePath('observed');
    const [owner, first, second] = [
      await openSession({ auth: alice, allowUnprotectedPaths: true }),
      await openSession(),
      await openSession(),
    ];
    const elector = await startLeader(owner, path, { id: 'one' });
    const node = `${path}/${(await elector.leader())?.node}`;
    await grant('all may read', [path, node]);
    const { observer, changes } = await observe(oneAfterTheOther(first, second), path);
    await expect(first.setData(path, Buffer.alloc(0))).rejects.toMatchObject({ code: 'NO_AUTH' });
    const before = new Map([[path, { ...(await owner.getData(path)) }]]);
    const old = before.get(path) as NodeData;
    before.set(path, { ...old, stat: { ...old.stat, mzxid: old.stat.mzxid - 1n } });
    const server = servedLate(second, before);
    await first.close();
    await showsId(observer, 'one');
    expect(server.caughtUp).toBe(true);
    expect(changes).toEqual(['one', undefined, 'one']);
  });

  /** Changes access lists as an operator would. Only alice may write. */
  async function grant(access: 'all may read' | 'its owner only', paths: readonly string[]): Promise<void> {
    const operator = await openAdminClient(alice);
    const owner: AccessEntry = { scheme: 'auth', id: '', permissions: 31 };
    const all: AccessEntry = { scheme: 'world', id: 'anyone', permissions: 1 };
    for (const path of paths) await operator.setAcl(path, access === 'all may read' ? [owner, all] : [owner]);
  }
});

import { describe, expect, it, vi } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import type { Term } from '../../src/election/term/term.js';
import {
  AuthenticationError,
  InvalidStateError,
  NoServerError,
  SessionClosedError,
} from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { createRequest } from '../../src/session/protocol/requests.js';
import type { Session } from '../../src/session/session.js';
import { lead } from '../support/conclave/electors.js';
import {
  connectString,
  inOrder,
  openProxied,
  openSession,
  openWithPath,
  uniquePath,
} from '../support/conclave/sessions.js';
import { aborted, errorsOf, eventAfter, nextEvent, recordEvents } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { deferred, until } from '../support/waiting.mjs';
import { startFakeServer } from '../support/wire/start-fake-server.js';

/** Creates a node on which all clients have these permissions. Our own sessions never do that. */
function createWithPermissions(session: Session, path: string, permissions: number): Promise<unknown> {
  const world = { scheme: 'world', id: 'anyone', permissions };
  const request = createRequest(path, Buffer.alloc(0), 'persistent', [world]);
  // biome-ignore lint/complexity/useLiteralKeys: it is protected, and only the brackets may
  return session['outbox'].submit(request, session.sessionTimeoutMs);
}

/** Every bug that was found after its code had landed. The names of the tests say what went wrong. */

const AUTH = 100;
const asAlice = { auth: { scheme: 'digest', credentials: 'alice:a' } } as const;

describe('an elector', () => {
  it('could not be stopped while the outcome of its claim was unknown and no server in reach', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 3000 });
    await session.ensurePath(path);
    const lost = proxy.loseReplyTo('multi', { text: '"state":"held"' }).then(() => proxy.cut());
    const elector = new LeaderElector(session, path);
    const started = elector.start();
    await lost;
    await until(() => session.state.name === 'suspended');
    const began = performance.now();
    await elector.stop();
    expect(performance.now() - began).toBeLessThan(session.leaseMs + 500);
    await started;
  });

  it('could not be stopped while it published what was advertised during the create', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 3000 });
    await lead(await openSession(), path);
    const elector = new LeaderElector(session, path);
    const lost = proxy.loseReplyTo('setData', { text: 'later' }).then(() => proxy.cut());
    const create = session.commit.bind(session);
    vi.spyOn(session, 'commit').mockImplementationOnce(async (...args) => {
      await elector.advertise('later');
      return await create(...args);
    });
    const started = expect(elector.start()).rejects.toBeInstanceOf(InvalidStateError); // It never saw its place.
    await lost;
    await until(() => session.state.name === 'suspended');
    const began = performance.now();
    await elector.stop();
    expect(performance.now() - began).toBeLessThan(session.leaseMs + 500);
    await started;
  });

  it('published an older advertisement over a newer one when the reply to the older was lost', async () => {
    const { proxy, session, path } = await openProxied();
    const elector = new LeaderElector(session, path, { data: 'first' });
    await elector.start();
    const suspended = nextEvent(session, 'suspended');
    void proxy.loseReplyTo('setData', { text: 'older' }).then(() => proxy.cut());
    const older = elector.advertise('older');
    await suspended;
    const newer = elector.advertise('newer');
    proxy.restore();
    await Promise.all([older, newer]);
    expect((await elector.candidates())[0]?.data).toBe('newer');
  });

  it('notified its listeners of demoted before elected when the first of them resigned', async () => {
    const path = uniquePath('bug');
    const elector = new LeaderElector(await openSession(), path);
    elector.once('elected', () => void elector.resign());
    const heard = recordEvents(elector, 'elected', 'demoted');
    await elector.start();
    await until(() => heard.length >= 3);
    expect(heard.slice(0, 3)).toEqual(['elected', 'demoted', 'elected']);
  });

  it('did not wait for its release when a listener of elected stopped it', async () => {
    const { session, path } = await openWithPath('bug');
    const elector = new LeaderElector(session, path);
    const stopped = deferred();
    elector.on('elected', async () => {
      await elector.stop();
      stopped.resolve();
    });
    await elector.start();
    await stopped.promise;
    expect(elector.state.name).toBe('stopped');
    expect(await session.getChildren(path)).toEqual([]);
  });

  it('went on for ever without electing a leader when an operator had wiped the chroot', async () => {
    const chroot = uniquePath('chroot');
    const session = await openSession({}, `${connectString()}${chroot}`);
    const outside = await openSession();
    await outside.remove(chroot);
    const elector = new LeaderElector(session, '/election');
    await eventAfter(elector, 'elected', () => elector.start());
  });

  it('collected a listener at each change of a node that it watched', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => void warnings.push(warning);
    process.on('warning', onWarning);
    const path = uniquePath('bug');
    const elector = new LeaderElector(await openSession(), path);
    const waiter = new LeaderElector(await openSession(), path);
    await elector.start();
    await waiter.start();
    for (let change = 0; change < 40; change++) await elector.advertise(`${change}`);
    await Promise.all([elector.stop(), waiter.stop()]);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  it('left its node behind without a word when the servers refused to delete it', async () => {
    const path = uniquePath('bug');
    const alice = await openSession(asAlice);
    const session = await openSession();
    const [READ, WRITE, CREATE] = [1, 2, 4];
    await createWithPermissions(alice, path, READ | WRITE | CREATE);
    const reported = nextEvent<[Error]>(session, 'error');
    const elector = new LeaderElector(session, path);
    await eventAfter(elector, 'elected', () => elector.start());
    await elector.stop();
    expect((await reported)[0]).toMatchObject({ code: 'NO_AUTH' });
  });
});

describe("the leader's work", () => {
  it.each(['stop', 'resign'] as const)(
    'waited for itself when it called %s and was begun outside of lead',
    async (method) => {
      const path = uniquePath('bug');
      const elector = new LeaderElector(await openSession(), path);
      const [term] = await eventAfter<[Term]>(elector, 'elected', () => elector.start());
      const done = deferred();
      term.waitUntil(async () => {
        await elector[method]();
        expect(term.signal.aborted).toBe(true);
        done.resolve();
      });
      await done.promise;
    },
  );
});

describe('an advertisement', () => {
  it('was not published when the same bytes were given with another content', async () => {
    const elector = new LeaderElector(await openSession(), uniquePath('bug'));
    await elector.start();
    const bytes = new Uint8Array([1]);
    await elector.advertise(bytes);
    bytes[0] = 2;
    expect((await elector.candidates())[0]?.data).toEqual(new Uint8Array([1]));
    await elector.advertise(bytes);
    expect((await elector.candidates())[0]?.data).toEqual(new Uint8Array([2]));
  });

  it('was taken without a word after the end', async () => {
    const [stopped, closed] = [await openSession(), await openSession()];
    const elector = new LeaderElector(stopped, uniquePath('bug'));
    await elector.stop();
    await expect(elector.advertise('late')).rejects.toBeInstanceOf(InvalidStateError);
    const other = new LeaderElector(closed, uniquePath('bug'));
    await closed.close();
    await expect(other.advertise('late')).rejects.toBeInstanceOf(SessionClosedError);
    await expect(elector.advertise(undefined as never)).rejects.toMatchObject({ option: 'data' });
  });
});

describe('stopping an elector', () => {
  it('did not wait for the release when the work had taken longer than a lease', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 3000, leaseMs: 400 });
    let settledAt = 0;
    const working = deferred();
    const elector = new LeaderElector(session, path, {
      lead: async ({ signal }) => {
        working.resolve();
        await aborted(signal);
        await new Promise((resolve) => setTimeout(resolve, session.leaseMs * 2));
        settledAt = performance.now();
      },
    });
    await elector.start();
    await working.promise;
    void proxy.partitionFrom('multi', { text: '"state":"vacant"' }); // Without an answer it waits for as long as it ever does.
    await elector.stop();
    expect(performance.now() - settledAt).toBeGreaterThan(session.leaseMs * 0.9);
  });

  it('took two leases and more when its claim was in a black hole', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 6000 });
    await session.ensurePath(path);
    const elector = new LeaderElector(session, path);
    const claiming = proxy.partitionFrom('multi', { text: '"state":"held"' });
    const started = elector.start();
    await claiming;
    const began = performance.now();
    await elector.stop();
    expect(performance.now() - began).toBeLessThan(session.leaseMs * 1.5 + 300);
    await started;
  });
});

describe('a session', () => {
  it('could not use a chroot that it could not have created', async () => {
    const locked = uniquePath('locked');
    const alice = await openSession(asAlice);
    await alice.create(locked);
    await createWithPermissions(alice, `${locked}/app`, 31);
    const session = await openSession({}, `${connectString()}${locked}/app`);
    await session.create('/mine');
    await session.remove('/mine');
  });

  it('said of an operation in flight at its close that the connection was lost', async () => {
    const { proxy, session } = await openProxied({ sessionTimeoutMs: 30_000 });
    proxy.partition();
    const operation = expect(session.exists('/')).rejects.toBeInstanceOf(SessionClosedError);
    await session.close();
    await operation;
  });

  it('waited for ever on a server that took the handshake and never answered the credentials', async () => {
    const silent = await startFakeServer({
      handshake: () => 3000,
      answer: ({ type }) => (type === AUTH ? undefined : { code: 0 }),
    });
    const talking = await startFakeServer({
      handshake: () => 3000,
      answer: () => ({ code: 0, body: Buffer.alloc(68) }),
    });
    const session = await openSession(
      { sessionTimeoutMs: 3000, environment: inOrder, ...asAlice },
      `${silent.connectString},${talking.connectString}`,
    );
    expect(session.state.name).toBe('connected');
  });

  it('said that it was connected after it was closed', async () => {
    const session = await openSession();
    await session.close();
    await expect(session.whenConnected()).rejects.toBeInstanceOf(SessionClosedError);
  });
});

it('a lock rejected with a TypeError when the session was closed during the create', async () => {
  for (let round = 0; round < 30; round++) {
    const { session, path } = await openWithPath('bug');
    await session.ensurePath(path);
    const acquiring = new DistributedLock(session, path).acquire();
    const outcome = acquiring.then(
      () => 'held',
      (error: unknown) => (error as Error).name,
    );
    for (let turn = 0; turn < round; turn++) await Promise.resolve();
    await session.close();
    expect(['SessionClosedError', 'held']).toContain(await outcome);
  }
});

describe('a supervisor', () => {
  it('tried for ever, and reported nothing, when its credentials were refused', async () => {
    const server = await startFakeServer({
      handshake: () => 60_000,
      answer: ({ type }) => ({ code: type === AUTH ? -115 : 0 }),
    });
    const supervisor = new ElectionSupervisor({
      connect: server.connectString,
      path: '/election',
      session: asAlice,
    });
    const events = recordEvents(supervisor, 'restarting', 'error', 'stopped');
    const stopped = nextEvent(supervisor, 'stopped');
    await expect(supervisor.start()).rejects.toBeInstanceOf(AuthenticationError);
    await stopped;
    expect(events).toEqual(['error', 'stopped']);
  });

  it('reported nothing but a refusal by the server that it tried again after', async () => {
    const path = uniquePath('bug');
    const alice = await openSession(asAlice);
    await alice.ensurePath(path);
    const supervisor = new ElectionSupervisor({ connect: connectString(), path, retry: { minTimeout: 10 } });
    const reported = nextEvent<[Error]>(supervisor, 'error');
    const starting = supervisor.start().catch((error: unknown) => error);
    expect((await reported)[0]).toMatchObject({ code: 'NO_AUTH' });
    expect(await starting).toMatchObject({ code: 'NO_AUTH' });
  });

  it('said that it was wedged while it was merely stopping', async () => {
    const path = uniquePath('bug');
    const seen: boolean[] = [];
    const supervisor = new ElectionSupervisor({ connect: connectString(), path });
    await supervisor.start();
    const watching = setInterval(() => seen.push(supervisor.health().wedged), 0);
    supervisor.on('demoted', () => void seen.push(supervisor.health().wedged));
    await until(() => supervisor.term !== undefined);
    await supervisor.stop();
    clearInterval(watching);
    expect(seen.length).toBeGreaterThan(1);
    expect(seen).not.toContain(true);
  });

  it('waited for its own clean-up hook when that stopped it', async () => {
    const path = uniquePath('bug');
    const proxy = await startProxy();
    const observer = await openSession();
    const supervisor: ElectionSupervisor = new ElectionSupervisor({
      connect: proxy.connectString,
      path,
      session: { sessionTimeoutMs: 700 },
      cleanup: async () => {
        await supervisor.stop();
      },
    });
    const errors = errorsOf(supervisor);
    const stopped = nextEvent(supervisor, 'stopped');
    await eventAfter<[Term]>(supervisor, 'elected', () => supervisor.start());
    proxy.cut();
    await until(async () => (await observer.getChildren(path)).length === 0, 'the expiry');
    proxy.restore();
    await stopped;
    expect(errors.filter((error) => !(error instanceof NoServerError))).toEqual([]);
  });
});

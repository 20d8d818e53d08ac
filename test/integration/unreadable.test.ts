/** Nodes that a session may not read: above its chroot, and ahead of it in a queue. */
import { describe, expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { UnreadableNodeError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { Semaphore } from '../../src/lock/semaphore.js';
import { deferred } from '../../src/platform/async/promises.js';
import type { AccessEntry } from '../../src/session/protocol/acl.js';
import type { Session } from '../../src/session/session.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import { candidateNodes } from '../support/conclave/electors.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { until } from '../support/waiting.mjs';

const alice = { scheme: 'digest', credentials: 'alice:wonder' };
const bob = { scheme: 'digest', credentials: 'bob:builder' };
const ALL = 31;
const CREATE = 4;
const all = (scheme: string, id: string): AccessEntry => ({ scheme, id, permissions: ALL });
const world = (permissions: number): AccessEntry[] => [{ scheme: 'world', id: 'anyone', permissions }];
/** Its creator has all permissions, and all clients may read. */
const readable: AccessEntry[] = [all('auth', ''), ...world(1)];

const ignore = () => undefined;

/** The shared server, whichever release it is, and a server where `exists` needs the right to read. */
const SERVERS: Record<string, () => Promise<string>> = {
  'the shared server': async () => connectString(),
  'the embedded server as 3.9': async () => (await startEmbedded({ dialect: '3.9' })).connectString,
};

describe.each(Object.entries(SERVERS))('with %s', (_, start) => {
  const open = async (auth: SessionOptions['auth'], access?: SessionOptions['access'], path = '') => {
    connect ??= await start();
    const options = { allowUnprotectedPaths: true, ...(access !== undefined && { access }) };
    return openSession({ ...options, ...(auth !== undefined && { auth }) }, connect + path);
  };
  let connect: string | undefined;
  // Each test starts its server anew, because each embedded server belongs to one test.
  const fresh = (name: string, test: () => Promise<void>) =>
    it(name, async () => {
      connect = undefined;
      await test();
    });

  /** Makes a path that all may use, and a session for the head of the queue whose nodes no other client may read. */
  async function queueOpenToBoth(): Promise<{ hidden: Session; path: string }> {
    const hidden = await open(alice, 'creator');
    const path = uniquePath();
    await hidden.create(path, { access: 'world' });
    return { hidden, path };
  }

  describe('below a chroot', () => {
    fresh('that may be used, under nodes that may not even be read, a session opens and leads', async () => {
      const owner = await open(alice, 'creator');
      const top = uniquePath('apps');
      await owner.create(top);
      await owner.create(`${top}/team`);
      await owner.create(`${top}/team/app`, { access: 'world' });
      const session = await open(bob, 'creator', `${top}/team/app`);
      const elector = new LeaderElector(session, '/election');
      await eventAfter(elector, 'elected', () => elector.start());
      await elector.stop();
    });

    fresh('that may not itself be read, a session opens', async () => {
      const owner = await open(alice, 'creator');
      const top = uniquePath('apps');
      await owner.create(top, { access: [all('auth', ''), ...world(CREATE)] });
      const session = await open(bob, 'creator', top);
      await session.create('/mine');
      expect((await session.getData('/mine')).stat.version).toBe(0);
    });

    fresh(
      'that is missing, a session creates it under a node in which it may create and which it may not read',
      async () => {
        const owner = await open(alice, 'creator');
        const top = uniquePath('apps');
        await owner.create(top, { access: [all('auth', ''), ...world(CREATE)] });
        const session = await open(bob, 'creator', `${top}/mine`);
        await session.create('/node');
        expect(await session.getChildren('/')).toEqual(['node']);
      },
    );
  });

  fresh('a path is there if another made it meanwhile where this session may not create', async () => {
    const owner = await open(alice, 'creator');
    const top = uniquePath('apps');
    await owner.create(top, { access: [all('auth', ''), ...world(1)] });
    await owner.create(`${top}/locks`, { access: 'world' });
    const session = await open(bob, 'creator');
    await session.ensurePath(`${top}/locks`);
    await expect(session.ensurePath(`${top}/others`)).rejects.toMatchObject({ code: 'NO_AUTH' });
  });

  describe('behind a node that it may not read', () => {
    const LOCKS: Record<string, (session: Session, path: string) => DistributedLock | Semaphore> = {
      'a lock': (session, path) => new DistributedLock(session, path),
      'a semaphore': (session, path) => new Semaphore(session, path, 1),
    };

    it.each(Object.entries(LOCKS))(
      'a session that waits for %s is refused at once, and leaves no node',
      async (_kind, make) => {
        connect = undefined;
        const { hidden, path } = await queueOpenToBoth();
        const hold = await make(hidden, path).acquire();
        const places = async () => (await hidden.getChildren(path)).filter((name) => name.includes('lock'));
        const [ahead] = await places();
        const session = await open(bob, readable);
        const refused = make(session, path).acquire();
        await expect(refused).rejects.toBeInstanceOf(UnreadableNodeError);
        await expect(refused).rejects.toMatchObject({ code: 'UNREADABLE_NODE', path: `${path}/${ahead}` });
        await expect(refused).rejects.toThrow(/READ/);
        // The session leaves in the background.
        await until(async () => (await places()).length === 1, 'the deletion of the place');
        expect(await places()).toEqual([ahead]);
        await hold.release();
      },
    );

    fresh('that comes to be the one ahead later, the waiting session is refused then', async () => {
      const { hidden, path } = await queueOpenToBoth();
      const hold = await new DistributedLock(hidden, path).acquire();
      const between = new AbortController();
      const visible = await open(alice, readable);
      const waits = async (session: Session, signal?: AbortSignal) => {
        const waiting = deferred();
        const acquired = new DistributedLock(session, path).acquire({
          ...(signal !== undefined && { signal }),
          onWaiting: () => waiting.resolve(),
        });
        acquired.catch(ignore);
        await waiting.promise;
        return { acquired };
      };
      const { acquired: first } = await waits(visible, between.signal);
      const { acquired: second } = await waits(await open(bob, readable));
      between.abort(new Error('enough'));
      await expect(first).rejects.toThrow('enough');
      await expect(second).rejects.toBeInstanceOf(UnreadableNodeError);
      await hold.release();
    });

    fresh('an elector does not start, and leaves no node', async () => {
      const { hidden, path } = await queueOpenToBoth();
      const leader = new LeaderElector(hidden, path);
      await eventAfter(leader, 'elected', () => leader.start());
      const elector = new LeaderElector(await open(bob, readable), path);
      await expect(elector.start()).rejects.toBeInstanceOf(UnreadableNodeError);
      await elector.stop();
      expect(elector.state.name).toBe('stopped');
      expect(await candidateNodes(hidden, path)).toHaveLength(1);
      await leader.stop();
    });

    fresh(
      'that comes to be the one ahead later, an elector says so, and leads when that one has gone',
      async () => {
        const { hidden, path } = await queueOpenToBoth();
        const leader = new LeaderElector(hidden, path);
        const between = new LeaderElector(await open(alice, readable), path);
        const elector = new LeaderElector(await open(bob, readable), path);
        const led = nextEvent(leader, 'elected');
        for (const each of [leader, between, elector]) await each.start();
        await led;
        expect(elector.state.name).toBe('waiting');
        const reported = nextEvent<[Error]>(elector, 'error');
        await between.stop();
        expect((await reported)[0]).toBeInstanceOf(UnreadableNodeError);
        const elected = nextEvent(elector, 'elected');
        elector.on('error', ignore);
        await leader.stop();
        await elected;
        await elector.stop();
      },
    );
  });
});

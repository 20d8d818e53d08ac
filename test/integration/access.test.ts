import { describe, expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { UnprotectedPathError, ZooKeeperError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { heartbeatPathOf } from '../../src/queue/names-and-order.js';
import { PERMISSION } from '../../src/session/protocol/acl.js';
import { candidateNodes } from '../support/conclave/electors.js';
import { openProxied, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { loggerOfWarnings } from '../support/recording-logger.js';
import { until } from '../support/waiting.mjs';

const alice = { scheme: 'digest', credentials: 'alice:wonder' };
const bob = { scheme: 'digest', credentials: 'bob:builder' };

describe('with auth', () => {
  it('an election, the nodes above it and those in it are for their creator only', async () => {
    const session = await openSession({ auth: alice });
    const stranger = await openSession();
    const [top, path] = [uniquePath('mine'), uniquePath('election')];
    const elector = new LeaderElector(session, `${top}${path}`);
    await elector.start();
    const election = `${top}${path}`;
    const [contender] = await candidateNodes(session, election);
    const heartbeat = heartbeatPathOf(`${election}/${contender}`);
    await until(async () => (await session.exists(heartbeat)) !== undefined, 'its heartbeat node');
    for (const each of [top, election, `${election}/${contender}`, heartbeat]) {
      const access = await session.getAcl(each);
      expect(access).toHaveLength(1);
      expect(access[0]).toMatchObject({ scheme: 'digest', permissions: 31 });
      expect(access[0]?.id).toMatch(/^alice:/);
      await expect(stranger.remove(each)).rejects.toBeInstanceOf(ZooKeeperError);
    }
    await elector.stop();
  });

  it('several credentials count together: a client with one of them may touch the nodes', async () => {
    const both = await openSession({ auth: [alice, bob] });
    const path = uniquePath();
    await both.create(path);
    for (const auth of [alice, bob]) {
      const one = await openSession({ auth });
      await one.setData(path, Buffer.from('x'));
    }
    expect((await both.getAcl(path)).map(({ id }) => id.split(':')[0]).sort()).toEqual(['alice', 'bob']);
  });

  it('a client is told of a node that another one creates in a transaction only if that lets it read the node', async () => {
    const [creator, other] = [await openSession({ auth: alice }), await openSession({ auth: bob })];
    const path = uniquePath();
    await creator.create(path, { access: 'world' });
    const told: string[] = [];
    for (const name of ['secret', 'readable'])
      other.watchCreation(`${path}/${name}`, () => void told.push(name));
    await other.exists(path); // Both watches are set.
    const access = [{ scheme: 'world', id: 'anyone', permissions: PERMISSION.read }];
    await creator.commit([
      { kind: 'create', path: `${path}/secret` },
      { kind: 'create', path: `${path}/readable`, access },
    ]);
    expect(await creator.getAcl(`${path}/readable`)).toEqual(access);
    await other.remove(`${path}/readable`); // Its event comes after both events.
    expect(told).toEqual(['readable']);
    await creator.remove(`${path}/secret`);
    await creator.remove(path);
  });

  it('stays so when the connection is another one: credentials are shown to each server', async () => {
    const { proxy, session, path } = await openProxied({ auth: [alice, bob] });
    await session.create(path);
    await eventAfter(session, 'resumed', () => proxy.dropConnections());
    expect((await session.getData(path)).stat.version).toBe(0);
  });

  it.each([
    ['a lock', (session, path) => new DistributedLock(session, path).acquire()],
    ['an election', (session, path) => new LeaderElector(session, path).start()],
  ] as [string, (session: Awaited<ReturnType<typeof openSession>>, path: string) => Promise<unknown>][])(
    'refuses %s whose existing node all clients may delete from, and leaves nothing there',
    async (_, join) => {
      const session = await openSession({ auth: alice });
      const { session: stranger, path } = await openWithPath('open');
      await stranger.create(path);
      const refused = join(session, path);
      await expect(refused).rejects.toBeInstanceOf(UnprotectedPathError);
      await expect(refused).rejects.toMatchObject({ code: 'UNPROTECTED_PATH', path });
      expect(await stranger.getChildren(path)).toEqual([]);
    },
  );

  it('uses such a node when that is allowed', async () => {
    const { warnings, logger } = loggerOfWarnings();
    const session = await openSession({ auth: alice, allowUnprotectedPaths: true, logger });
    const { session: stranger, path } = await openWithPath('open');
    await stranger.create(path);
    const hold = await new DistributedLock(session, path).acquire();
    expect(hold.isHeld()).toBe(true);
    await hold.release();
    expect(warnings).toEqual([]);
  });

  it('looks again when the path was deleted and another client made it anew', async () => {
    const session = await openSession({ auth: alice });
    const { session: stranger, path } = await openWithPath('open');
    const lock = new DistributedLock(session, path);
    await (await lock.acquire()).release();
    await session.remove(path);
    // In the worst case the stranger creates the path after the lock's create has failed, and before the lock makes the path.
    const create = session.ensurePath.bind(session);
    session.ensurePath = async (missing) => {
      await stranger.create(missing);
      await create(missing);
    };
    await expect(lock.acquire()).rejects.toBeInstanceOf(UnprotectedPathError);
  });
});

it('without auth a session warns once that nothing is protected', async () => {
  const { warnings, logger } = loggerOfWarnings();
  const session = await openSession({ logger });
  for (let count = 0; count < 2; count++) {
    await (await new DistributedLock(session, uniquePath()).acquire()).release();
  }
  expect(warnings.filter((message) => message.includes('may delete the nodes'))).toHaveLength(1);
});

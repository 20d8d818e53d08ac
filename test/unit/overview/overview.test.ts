import { describe, expect, it } from 'vitest';
import type { LeaderElectorOptions } from '../../../src/election/elector-options.js';
import { LeaderElector } from '../../../src/election/leader-elector.js';
import { DistributedLock } from '../../../src/lock/distributed-lock.js';
import { ReadWriteLock } from '../../../src/lock/read-write-lock.js';
import { Semaphore } from '../../../src/lock/semaphore.js';
import type { OverviewOptions } from '../../../src/overview/overview.js';
import { A_WHILE_MS, GROUP, startGroup, TIMES } from '../../support/conclave/group-members.js';
import { overviewOf } from '../../support/conclave/overviews.js';
import { sessionAt, startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';
import { onTestFinished } from '../../support/vitest/test-end.js';

const ELECTION = '/elections/a';

async function setUp() {
  const world = await startWithTestClock();
  const { clock, server, open } = world;
  const join = async (path: string, options: LeaderElectorOptions) => {
    const session = await open(TIMES);
    const elector = new LeaderElector(session, path, options);
    await clock.advanceUntil(elector.start());
    await clock.advance(A_WHILE_MS);
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    const expire = () => {
      const atServer = sessionAt(server, session);
      atServer.partition();
      atServer.expire();
    };
    return { elector, session, expire };
  };
  const settled = <T>(promise: Promise<T>) => clock.advanceUntil(promise);
  const observe = async (options: OverviewOptions = {}) => overviewOf(await open(TIMES), options, settled);
  /** It has sessions of its own, one after the other. */
  const observeAlone = () =>
    overviewOf(server.connectString, { session: { ...TIMES, environment: clock.environment } }, settled);
  const aWhile = () => clock.advance(A_WHILE_MS);
  return { ...world, join, observe, observeAlone, aWhile };
}

describe('an overview of elections', () => {
  it('shows who leads, the queue in its order, who is next, and what they advertise', async () => {
    const { join, observe } = await setUp();
    await join(ELECTION, { id: 'one', data: 'at one' });
    await join(ELECTION, { id: 'two', data: new Uint8Array([255]) });
    await join(ELECTION, { id: 'three', priority: 7, data: 'x'.repeat(300) });
    const { election, overview } = await observe();
    expect(election(ELECTION)).toMatchObject({
      path: ELECTION,
      state: 'led',
      leader: { id: 'one', term: 1, leaseMs: 2000 },
      candidates: [
        { id: 'one', position: 0, priority: 0, leads: true, data: 'at one' },
        { id: 'two', position: 1, priority: 0, leads: false },
        { id: 'three', position: 2, priority: 7, leads: false, data: `${'x'.repeat(199)}…` },
      ],
      next: { id: 'three', why: 'priority' },
      terms: [{ term: 1, id: 'one', to: null, end: null }],
    });
    expect(election(ELECTION)?.candidates[1]).not.toHaveProperty('data');
    expect(overview.state).toMatchObject({ connected: true, disconnectedSince: null, locks: [], groups: [] });
  });

  it('tells of a term that is handed over, of one that is released, and of one whose session ends', async () => {
    const { clock, join, observe, aWhile } = await setUp();
    const first = await join(ELECTION, { id: 'one' });
    const view = await observe();
    const second = await join(ELECTION, { id: 'two' });
    await clock.advanceUntil(first.elector.resign());
    await aWhile();
    expect(view.election(ELECTION)?.leader).toMatchObject({ id: 'two', term: 2 });
    await clock.advanceUntil(first.elector.stop());
    await clock.advanceUntil(second.elector.stop());
    await aWhile();
    expect(view.election(ELECTION)).toMatchObject({
      state: 'deserted',
      leader: null,
      candidates: [],
      next: null,
    });
    const third = await join(ELECTION, { id: 'three' });
    await join(ELECTION, { id: 'four' });
    third.expire();
    await aWhile();
    expect(view.election(ELECTION)).toMatchObject({
      state: 'taking-over',
      leader: null,
      next: { id: 'four' },
    });
    await clock.advance(10_000);
    expect(view.election(ELECTION)?.terms.map(({ id, end }) => [id, end])).toEqual([
      ['one', 'handed-over'],
      ['two', 'released'],
      ['three', 'session-ended'],
      ['four', null],
    ]);
    const told = view
      .transitions()
      .flatMap(({ kind, id, reason }) => (kind === 'ended' ? [`${id} ${reason}`] : []));
    expect(told).toEqual(['one handed-over', 'two released', 'three session-ended']);
  });

  it('tells that another candidate has taken over from a leader that was silent', async () => {
    const { clock, server, join, observe } = await setUp();
    const first = await join(ELECTION, { id: 'one' });
    await join(ELECTION, { id: 'two' });
    const view = await observe();
    const silent = sessionAt(server, first.session);
    silent.partition();
    await clock.advance(6000);
    silent.heal();
    expect(view.election(ELECTION)?.terms).toMatchObject([
      { id: 'one', end: 'taken-over' },
      { id: 'two', end: null },
    ]);
  });

  it('costs two watches for an election with candidates, and one for the node above and for one without', async () => {
    const { clock, server, join, observe, aWhile } = await setUp();
    const { elector } = await join(ELECTION, { id: 'one' });
    const before = server.watchCount();
    await observe({ root: '/elections' });
    expect(server.watchCount() - before).toBe(3);
    await clock.advanceUntil(elector.stop());
    await aWhile();
    expect(server.watchCount()).toBe(2);
  });

  it('asks for heartbeats and servers as long as it is attended, and once for all that attend', async () => {
    const { clock, server, join, observe } = await setUp();
    await join(ELECTION, { id: 'one' });
    const view = await observe();
    const reads = async () => {
      server.resetCounts();
      await clock.advance(10_000);
      return server.count('exists');
    };
    expect(await reads()).toBe(0);
    expect(view.election(ELECTION)?.leader?.heartbeatAt).toBeNull();
    const end = view.overview.attend();
    const once = await reads();
    expect(once).toBeGreaterThan(5);
    expect(once).toBeLessThan(12);
    const at = view.election(ELECTION)?.leader?.heartbeatAt ?? 0;
    expect(clock.date().getTime() - at).toBeLessThan(2000);
    expect(view.overview.state.servers).toEqual([
      {
        address: server.connectString,
        role: 'standalone',
        isOurs: true,
        version: expect.stringMatching(/^3\.8/),
      },
    ]);
    const others = Array.from({ length: 9 }, () => view.overview.attend());
    expect(await reads()).toBeLessThan(12);
    for (const each of [end, ...others]) each();
    end(); // A second call is of no effect.
    expect(await reads()).toBe(0);
  });
});

describe('an overview of locks and groups', () => {
  it('shows who holds a lock, a semaphore and a read-write lock, and who waits', async () => {
    const { clock, open, observe, aWhile } = await setUp();
    const session = await open(TIMES);
    const view = await observe();
    const lock = new DistributedLock(session, '/locks/plain');
    const hold = await clock.advanceUntil(lock.acquire());
    const waiting = lock.acquire();
    const semaphore = new Semaphore(session, '/locks/semaphore', 2);
    for (let each = 0; each < 2; each++) await clock.advanceUntil(semaphore.acquire());
    void semaphore.acquire().catch(() => undefined);
    const { readLock, writeLock } = new ReadWriteLock(session, '/locks/table');
    for (let each = 0; each < 2; each++) await clock.advanceUntil(readLock.acquire());
    void writeLock.acquire().catch(() => undefined);
    await aWhile();
    expect(view.lock('/locks/plain')).toMatchObject({
      kind: 'lock',
      capacity: 1,
      holding: 1,
      queue: [{}, {}],
    });
    expect(view.lock('/locks/semaphore')).toMatchObject({
      kind: 'semaphore',
      capacity: 2,
      holding: 2,
      queue: [{}, {}, {}],
    });
    expect(view.lock('/locks/table')).toMatchObject({
      kind: 'read-write',
      holding: 2,
      queue: [{ shared: true }, { shared: true }, { shared: false }],
    });
    await clock.advanceUntil(hold.release());
    await clock.advanceUntil((await clock.advanceUntil(waiting)).release());
    await aWhile();
    expect(view.lock('/locks/plain')).toMatchObject({ kind: 'lock', holding: 0, queue: [] });
  });

  it('shows who owns the shards of a group, who plans, and which shards move', async () => {
    const { clock, open, join, idsOf } = await startGroup();
    const one = await join('one', { data: 'at one' });
    await clock.advance(A_WHILE_MS);
    const view = await overviewOf(await open(TIMES), {}, (promise) => clock.advanceUntil(promise));
    expect(view.group(GROUP)).toMatchObject({
      state: 'owned',
      shards: ['0', '1', '2', '3', '4', '5', '6', '7'],
      members: [{ id: 'one', weight: 1, planner: true, data: 'at one' }],
      owners: [0, 0, 0, 0, 0, 0, 0, 0],
      pins: [],
      moves: [],
    });
    expect(view.overview.state.elections).toEqual([]); // That of the planner is the group's.
    const two = await join('two');
    await clock.advance(5 * A_WHILE_MS);
    const { members = [], owners = [], moves = [] } = view.group(GROUP) ?? {};
    expect(members.map(({ id }) => id)).toEqual(['one', 'two']);
    const owned = (member: number) =>
      owners.flatMap((owner, shard) => (owner === member ? [String(shard)] : []));
    expect([owned(0), owned(1)]).toEqual([idsOf(one), idsOf(two)]);
    expect(moves.map(({ shard, from, to }) => [shard, from, to]).sort()).toEqual(
      idsOf(two).map((shard) => [shard, 'one', 'two']),
    );
  });
});

describe('what is below the root', () => {
  it('is waited for if the root is missing, and told of as it comes and goes', async () => {
    const { clock, join, open, observe, aWhile } = await setUp();
    const view = await observe({ root: '/elections' });
    expect(view.overview.state.elections).toEqual([]);
    const { elector } = await join(ELECTION, { id: 'one' });
    expect(view.election(ELECTION)?.leader?.id).toBe('one');
    await clock.advanceUntil(elector.stop());
    const session = await open();
    for (const name of await clock.advanceUntil(session.getChildren(ELECTION)))
      await clock.advanceUntil(session.remove(`${ELECTION}/${name}`));
    for (const path of [ELECTION, '/elections']) await clock.advanceUntil(session.remove(path));
    await aWhile();
    expect(view.overview.state.elections).toEqual([]);
    expect(view.changes.flatMap(({ removed }) => removed ?? [])).toEqual([ELECTION]);
    await join(ELECTION, { id: 'two' });
    expect(view.election(ELECTION)?.leader).toMatchObject({ id: 'two', term: 1 });
    expect(view.errors).toEqual([]);
  });

  it('is not read through where it is no queue, and it is said what is left out', async () => {
    const { clock, server, open, observe } = await setUp();
    const session = await open();
    await clock.advanceUntil(session.create('/many'));
    const parts = Array.from({ length: 2500 }, (_, at) => ({ kind: 'create' as const, path: `/many/${at}` }));
    await clock.advanceUntil(session.commit(parts));
    server.resetCounts();
    const view = await observe();
    expect(server.count('getData')).toBeLessThan(10);
    expect(view.overview.state.limits).toEqual([expect.stringContaining('below /many: 2500 children')]);
  });

  it('says that it left nodes out also after a change of the root', async () => {
    const { clock, open, observe, aWhile } = await setUp();
    const session = await open();
    const make = async (path: string, children: number) => {
      await clock.advanceUntil(session.create(path));
      const parts = Array.from({ length: children }, (_, at) => ({
        kind: 'create' as const,
        path: `${path}/${at}`,
      }));
      await clock.advanceUntil(session.commit(parts));
    };
    await clock.advanceUntil(session.create('/root'));
    await clock.advanceUntil(session.create('/root/alone'));
    for (let at = 0; at < 6; at++) await make(`/root/${at}`, 1_800);
    const view = await observe({ root: '/root' });
    const leftOut = [expect.stringContaining('more than 10000 nodes below /root')];
    expect(view.overview.state.limits).toEqual(leftOut);
    await clock.advanceUntil(session.remove('/root/alone'));
    await aWhile();
    expect(view.overview.state.limits).toEqual(leftOut);
  });
});

describe('an overview without a session', () => {
  it('keeps what it has read, says that it is disconnected, and tells of the difference later', async () => {
    const { clock, server, join, observeAlone } = await setUp();
    const first = await join(ELECTION, { id: 'one' });
    await join(ELECTION, { id: 'two' });
    const view = await observeAlone();
    const own = server.sessions().at(-1);
    server.refuse(); // New connections.
    own?.expire();
    await clock.advanceUntil(() => !view.overview.state.connected);
    expect(view.overview.state).toMatchObject({ connected: false, disconnectedSince: expect.any(Number) });
    expect(view.election(ELECTION)?.leader?.id).toBe('one');
    await clock.advanceUntil(first.elector.stop());
    server.admit();
    await clock.advanceUntil(
      () => view.overview.state.connected && view.election(ELECTION)?.leader?.id === 'two',
    );
    expect(view.election(ELECTION)?.terms.map(({ id, end }) => [id, end])).toEqual([
      ['one', 'handed-over'],
      ['two', null],
    ]);
  });

  it('asks the servers nothing with a session that has ended', async () => {
    const { clock, open } = await setUp();
    const session = await open(TIMES);
    const settled = <T>(promise: Promise<T>) => clock.advanceUntil(promise);
    const { overview } = await overviewOf(session, {}, settled);
    await settled(session.close());
    onTestFinished(overview.attend());
    await clock.advance(10_000);
    expect(overview.state.servers).toEqual([]);
  });

  it('keeps what it has read also when the next session ends while it reads', async () => {
    const { clock, server, join, observeAlone } = await setUp();
    const { session: others } = await join(ELECTION, { id: 'one' });
    const view = await observeAlone();
    const expire = () =>
      server
        .sessions()
        .find(({ id }) => id !== others.credentials.id)
        ?.expire();
    for (let round = 0; round < 2; round++) {
      const reading = server.delay(1000, { only: 'getData', times: 1 });
      expire();
      await clock.advanceUntil(() => reading.hits === 1);
      expire();
      await clock.advanceUntil(() => !view.overview.state.connected);
      expect(view.election(ELECTION)?.leader?.id).toBe('one');
      await clock.advanceUntil(() => view.overview.state.connected);
    }
    await clock.advance(10_000);
    expect(view.election(ELECTION)?.leader?.id).toBe('one');
    expect(view.changes.flatMap(({ removed = [] }) => removed)).toEqual([]);
    expect(view.transitions()).toEqual([]);
  });
});

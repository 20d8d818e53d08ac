import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Term } from '../../../../src/election/term/term.js';
import { ZooKeeperError } from '../../../../src/errors.js';
import { HeartbeatNode } from '../../../../src/lease/heartbeat-node.js';
import { deferred, ignore } from '../../../../src/platform/async/promises.js';
import type { MemberWatch, SeenMember } from '../../../../src/shards/members/member-watch.js';
import type { SeenShard, ShardRecords } from '../../../../src/shards/ownership/shard-records.js';
import { followWakeUps, Planner, SETTLE_MS } from '../../../../src/shards/planner/planner.js';
import { serializeHome, serializeOwned } from '../../../../src/shards/stored/data-formats.js';
import { ShardList } from '../../../../src/shards/stored/shard-list.js';
import type { TestClock } from '../../../../src/testing/controls/test-clock.js';
import {
  A_WHILE_MS,
  type JoinedMember,
  PATHS,
  REPLACED_MS,
  startGroup,
  TIMES,
} from '../../../support/conclave/group-members.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

/** Has the heartbeats of a member be as if a thread sent them, for a main thread that stands still. */
function mayStall(clock: TestClock) {
  const stalled = new Set<string>();
  const { absoluteRaise } = HeartbeatNode.prototype;
  const raising = vi.spyOn(HeartbeatNode.prototype, 'absoluteRaise');
  raising.mockImplementation(function (this: HeartbeatNode) {
    return absoluteRaise.call(this, stalled.has(this.path));
  });
  onTestFinished(() => raising.mockRestore());
  return async ({ session }: JoinedMember, isStalled: boolean) => {
    const names = await clock.advanceUntil(session.getChildren(PATHS.members));
    for (const path of names
      .filter((name) => name.startsWith('_h_'))
      .map((name) => `${PATHS.members}/${name}`)) {
      const stat = await clock.advanceUntil(session.exists(path));
      if (stat === undefined || !session.owns(stat)) continue;
      if (isStalled) stalled.add(path);
      else stalled.delete(path);
    }
    // The session makes its heartbeats anew when one is refused.
    const nothing = { confirmed: ignore, gone: ignore, unreadable: ignore };
    session.keepAlive.add({ absolutePath: '/nothing', ...nothing });
  };
}

describe('the planner of a group of shards', () => {
  it('plans no shards for a member that drains, and moves nothing else', async () => {
    const { joinAll, report, idsOf, expectAllOwnedOnce } = await startGroup();
    const [first, second, third] = await joinAll('a', 'b', 'c');
    const kept = [...idsOf(first), ...idsOf(third)];
    await report(second, { draining: true });
    expect(idsOf(second)).toEqual([]);
    expectAllOwnedOnce();
    expect([...idsOf(first), ...idsOf(third)]).toEqual(expect.arrayContaining(kept));
    await report(second, { draining: false });
    expect([first, second, third].map((each) => idsOf(each).length).sort()).toEqual([2, 3, 3]);
  });

  it('gave the shards of a member that had failed to one that stalls, which claims nothing', async () => {
    const { clock, joinAll, idsOf } = await startGroup();
    const stall = mayStall(clock);
    const [first, second, third] = await joinAll('a', 'b', 'c');
    const [ofSecond, ofThird] = [idsOf(second), idsOf(third)];
    await stall(second, true);
    await clock.advance(A_WHILE_MS);
    expect(idsOf(second)).toEqual(ofSecond);
    third.silence();
    await clock.advance(REPLACED_MS + A_WHILE_MS);
    expect(second.plannedFor).toEqual(ofSecond);
    expect(idsOf(first)).toEqual(expect.arrayContaining(ofThird));
    await stall(second, false);
    await clock.advance(A_WHILE_MS);
    expect([first, second].map((each) => idsOf(each).length)).toEqual([4, 4]);
  });

  it('plans none for any member if all of them drain, itself among them, and none again after they have left', async () => {
    const { joinAndWait, joinAll, report, leave, idsOf, list } = await startGroup();
    const [planner, other] = await joinAll('a', 'b');
    planner.member.report({ draining: true });
    await report(other, { draining: true });
    expect([idsOf(planner), idsOf(other)]).toEqual([[], []]);
    expect(planner.plans.at(-1)).toEqual(new Map());
    await leave(planner);
    expect([other.member.isPlanner, idsOf(other)]).toEqual([true, []]);
    const third = await joinAndWait('c');
    expect(idsOf(third)).toEqual(list.ids);
  });

  it('plans a shard that its owner refuses for another one, and for the owner again when it is needed there', async () => {
    const { joinAll, report, leave, idsOf, ownersOf } = await startGroup({ shards: 4 });
    const [first, second] = await joinAll('a', 'b');
    const [refused, kept] = idsOf(first) as [string, string];
    const before = second.told.length;
    await report(first, { refused: [refused] });
    expect([idsOf(first), ownersOf(refused)]).toEqual([[kept], ['b']]);
    expect(second.told.slice(before)).toEqual([`acquired ${refused}`]);
    await leave(second);
    expect(idsOf(first)).toHaveLength(3);
    expect(ownersOf(refused)).toEqual([]);
    await report(first, { refused: [] });
    expect(idsOf(first)).toHaveLength(4);
  });

  it('goes by what members have said to the planner before it', async () => {
    const { joinAll, report, leave, idsOf, list } = await startGroup();
    const [planner, draining, third] = await joinAll('a', 'b', 'c');
    draining.member.report({ draining: true });
    planner.member.report({ refused: ['1'] });
    await report(third, { refused: ['2', '3'] });
    await leave(planner);
    expect(idsOf(draining)).toEqual([]);
    expect(idsOf(third)).toEqual(list.ids.filter((id) => id !== '2' && id !== '3'));
  });

  it('reports that it may not read what a member says, and plans as if that said nothing', async () => {
    const { server, joinAll, report, idsOf } = await startGroup();
    const [planner, other] = await joinAll('a', 'b');
    const forbidden = server.failWith('NO_AUTH', { operation: 'getData', path: /\/reports\// });
    await report(other, { draining: true });
    expect(idsOf(other)).toHaveLength(4);
    expect(planner.errors.splice(0)).toEqual([expect.any(ZooKeeperError)]);
    forbidden.clear();
    await report(other, { refused: ['0'] });
    expect(idsOf(other)).toEqual([]);
  });

  it.each([
    [
      'homes',
      '{"format":"conclave.home.1","id":"\\ud83d","member":"m","weight":1,"graceMs":9,"list":0,"shards":[]}',
    ],
    ['pins', '{"format":"conclave.pins.1","pins":{"\\ud83d":"\\ud83d","0":"\\ud83d"}}'],
    ['tombstones', '\\ud83d'],
    ['members', '{"format":"conclave.member.1","id":"\\ud83d","weight":1}'],
  ])(
    'plans on with a node of another client below %s that has half a surrogate pair',
    async (folder, text) => {
      const { clock, open, join, joinAndWait, idsOf } = await startGroup();
      const planner = await join('a');
      const operator = await open(TIMES);
      const parent = `${PATHS.group}/${folder}`;
      const data = Buffer.from(text);
      for (const name of ['%', '%ud83d', '_c_0f8fad5b-d9cb-869f-a165-708677289509-lock-0000000009'])
        await clock.advanceUntil(operator.create(`${parent}/${name}`, { data }));
      if (folder === 'pins') await clock.advanceUntil(operator.setData(parent, data));
      const other = await joinAndWait('b');
      expect([idsOf(planner).length, idsOf(other).length]).toEqual([4, 4]);
    },
  );

  it('leaves no report of a member that has left', async () => {
    const { clock, server, join } = await startGroup();
    const { member, session } = await join('a');
    member.report({ refused: ['1'] });
    await clock.advance(A_WHILE_MS);
    expect(server.paths(PATHS.reports)).toHaveLength(2);
    await clock.advanceUntil(member.leave());
    expect(session.ended.aborted).toBe(false);
    expect(server.paths(PATHS.reports)).toEqual([PATHS.reports]);
    await clock.advance(2 * TIMES.sessionTimeoutMs);
  });
});

const KNOWN = { list: ShardList.of(4), version: 1 };
const seen = (id: string, number: number): SeenMember => ({
  ...{ id, weight: 1 },
  node: `_c_0f8fad5b-d9cb-869f-a165-70867728950${number}-lock-000000000${number}`,
});

/** A planner whose members and records are the test's. */
async function setUpAlone() {
  const { clock, open } = await startWithTestClock();
  const session = await open(TIMES);
  const { plans, owned, tombstones, reports, homes, pins } = PATHS;
  for (const path of [plans, owned, tombstones, reports, homes, pins])
    await clock.advanceUntil(session.ensurePath(path));
  const timers = clock.timerCount;
  const present: SeenMember[] = [];
  const come = async (member: SeenMember) => {
    await clock.advanceUntil(session.create(PATHS.planOf(member.node)));
    present.push(member);
    planner.changed();
  };
  const written: string[] = [];
  const controller = new AbortController();
  const transaction = {
    setData: (path: string) => void written.push(path),
    commit: () => Promise.resolve(),
  };
  const term = { signal: controller.signal, transaction: () => transaction } as unknown as Term;
  const reads: ReturnType<typeof deferred<SeenShard[]>>[] = [];
  const read = () => {
    reads.push(deferred<SeenShard[]>());
    return reads.at(-1)?.promise;
  };
  const errors: unknown[] = [];
  const watch = {
    get present() {
      return [...present];
    },
    ...{ hasLooked: true, noteNamed: () => undefined },
  };
  const planner = new Planner(
    {
      ...{ session, paths: PATHS, shards: () => KNOWN },
      records: { read } as unknown as ShardRecords,
      watch: watch as unknown as MemberWatch,
      onPlanned: () => undefined,
      onError: (error) => errors.push(error),
    },
    term,
  );
  onTestFinished(() => controller.abort());
  return { clock, session, timers, present, come, planner, written, controller, reads, errors };
}

describe('a term of the planner', () => {
  it('leaves no timer when it ends, also after a plan that failed while members came', async () => {
    const { clock, timers, come, reads, errors, controller } = await setUpAlone();
    await come(seen('a', 1));
    await clock.advance(SETTLE_MS);
    await come(seen('b', 2));
    reads[0]?.reject(new Error('refused'));
    await clock.advance(0);
    expect(errors.splice(0).map(String)).toEqual(['Error: refused']);
    controller.abort();
    await clock.advance(0);
    expect(clock.timerCount).toBe(timers);
  });

  it('goes by what members publish when one joins, and by all records when one has gone', async () => {
    const { clock, session, present, come, planner, written, reads } = await setUpAlone();
    const [first, second] = [seen('a', 1), seen('b', 2)];
    await come(first);
    await clock.advance(SETTLE_MS);
    expect(reads).toHaveLength(1); // It doesn't know yet whom records name.
    reads[0]?.resolve([]);
    await clock.advance(0);
    await clock.advanceUntil(
      session.create(PATHS.ownedOf(first.node), { data: serializeOwned([0, 1, 2, 3]) }),
    );
    written.length = 0;
    await come(second);
    await clock.advance(SETTLE_MS);
    expect(reads).toHaveLength(1);
    expect(written.sort()).toEqual([PATHS.planOf(first.node), PATHS.planOf(second.node)].sort());
    present.pop();
    planner.changed();
    await clock.advance(0);
    expect(reads).toHaveLength(2);
  });

  it('reads all records again over another connection, also one that comes while the first plan is made', async () => {
    const { clock, come, planner, reads } = await setUpAlone();
    await come(seen('a', 1));
    await clock.advance(SETTLE_MS);
    planner.readAll();
    await clock.advance(0);
    expect(reads).toHaveLength(1);
    for (const times of [2, 3]) {
      reads.at(-1)?.resolve([]);
      await clock.advance(0);
      if (times > 2) planner.readAll();
      await clock.advance(0);
      expect(reads).toHaveLength(times);
    }
  });

  it('plans again for a pin that comes while the first plan is made', async () => {
    const { clock, session, come, written, reads } = await setUpAlone();
    const [first, second] = [seen('a', 1), seen('b', 2)];
    await come(first);
    await come(second);
    await clock.advance(SETTLE_MS);
    expect(reads).toHaveLength(1);
    await clock.advanceUntil(session.setData(PATHS.pins, Buffer.alloc(0)));
    await clock.advance(0);
    reads[0]?.resolve([]);
    await clock.advance(0);
    expect(written).toHaveLength(4);
  });

  it('plans at once for a member that came back before it was known that it is awaited', async () => {
    const { clock, session, present, come, written, reads } = await setUpAlone();
    await come(seen('a', 1));
    await clock.advance(SETTLE_MS);
    reads[0]?.resolve([]);
    await clock.advance(10);
    const home = { id: 'b', member: 'gone', weight: 1, graceMs: 10_000, shards: ['2', '3'] };
    const data = serializeHome(home, KNOWN);
    await clock.advanceUntil(session.create(PATHS.homeOf('b'), { data }));
    await clock.advanceUntil(session.create(`${PATHS.tombstones}/other`)); // So it reads the records.
    await clock.advanceUntil(session.setData(PATHS.pins, Buffer.alloc(0)));
    await clock.advance(10); // The plan for that has begun, and waits for the records.
    const back = seen('b', 2);
    await come(back);
    expect(present).toHaveLength(2);
    reads[1]?.resolve([]);
    await clock.advance(0);
    reads[2]?.resolve([]);
    await clock.advance(0);
    expect(written.at(-1)).toBe(PATHS.planOf(back.node));
  });
});

const PATH = '/hint';
const LEASE_MS = 2000;
const NO_DATA = Buffer.alloc(0);

async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const session = await open({ sessionTimeoutMs: 10_000, leaseMs: LEASE_MS });
  await clock.advanceUntil(session.create(PATH));
  const told = { changes: 0, errors: [] as unknown[] };
  const watch = () => {
    const hint = followWakeUps(session, PATH, {
      onChange: () => {
        told.changes++;
      },
      onError: (error) => told.errors.push(error),
    });
    onTestFinished(() => hint.stop());
    return hint;
  };
  const write = () => clock.advanceUntil(session.setData(PATH, NO_DATA));
  return { clock, server, session, told, watch, write };
}

describe('the watch of a node that is written for the planner', () => {
  it('tells of each change since it was read first, and of none once it is stopped', async () => {
    const { clock, told, watch, write } = await setUp();
    const hint = watch();
    await clock.advance(10);
    expect(told.changes).toBe(0);
    for (const count of [1, 2]) {
      await write();
      await clock.advance(10);
      expect(told.changes).toBe(count);
    }
    hint.stop();
    await write();
    await clock.advance(10);
    expect(told).toEqual({ changes: 2, errors: [] });
  });

  it('makes a node anew that was deleted, and tells of its changes as before', async () => {
    const { clock, server, session, told, watch, write } = await setUp();
    watch();
    await clock.advance(10);
    await clock.advanceUntil(session.remove(PATH));
    await clock.advance(10);
    expect(told.changes).toBe(1);
    await clock.advance(LEASE_MS);
    expect(server.paths(PATH)).toEqual([PATH]);
    expect(told.changes).toBe(2); // It may have been written before it was watched again.
    await write();
    await clock.advance(10);
    expect(told).toEqual({ changes: 3, errors: [] });
  });

  it('leaves a node that was deleted alone once it is stopped, with no timer left', async () => {
    const { clock, server, session, watch } = await setUp();
    const hint = watch();
    await clock.advance(10);
    const timers = clock.timerCount;
    await clock.advanceUntil(session.remove(PATH));
    await clock.advance(10);
    hint.stop();
    expect(clock.timerCount).toBeLessThanOrEqual(timers);
    await clock.advance(10 * LEASE_MS);
    expect(server.paths(PATH)).toEqual([]);
  });

  it('reports once that a server refuses, and goes on as soon as it doesn’t', async () => {
    const { clock, server, told, watch, write } = await setUp();
    server.failWith('NO_AUTH', { operation: 'getData', times: 3 });
    watch();
    await clock.advance(10);
    expect(told.errors).toEqual([expect.any(ZooKeeperError)]);
    await clock.advance(4 * LEASE_MS);
    expect(told.errors).toHaveLength(1);
    const before = told.changes;
    await write();
    await clock.advance(10);
    expect(told.changes).toBe(before + 1);
  });
});

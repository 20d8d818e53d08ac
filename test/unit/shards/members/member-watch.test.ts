import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { candidateUuid } from '../../../../src/election/candidates/candidate-uuid.js';
import { serializeRecord } from '../../../../src/election/record/election-record.js';
import { LazyAbortController } from '../../../../src/platform/async/lazy-abort-controller.js';
import { heartbeatNodeOf } from '../../../../src/queue/names-and-order.js';
import type { ChildNames } from '../../../../src/session/protocol/child-names.js';
import { joinGroup, leaveGroup } from '../../../../src/shards/members/join-and-leave.js';
import { MemberWatch } from '../../../../src/shards/members/member-watch.js';
import { prepareGroup } from '../../../../src/shards/read-and-resize-group.js';
import { DELAY_MS, PATHS, startGroup, TIMES } from '../../../support/conclave/group-members.js';
import { permitAll } from '../../../support/conclave/shard-owners.js';
import { sessionAt, startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';
import { PERMISSION } from '../../../support/wire/operations.js';

const UUID = candidateUuid('0f8fad5b-d9cb-469f-a165-70867728950e', 0, TIMES.leaseMs);
const NEVER_THERE = `_c_${UUID}-lock-0000000007`;

async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const observer = await open(TIMES);
  for (const path of [PATHS.members, PATHS.plans, PATHS.tombstones])
    await clock.advanceUntil(observer.ensurePath(path));
  const join = async (id: string) => {
    const session = await open(TIMES);
    const options = {
      data: { id, weight: 1 },
      signal: new LazyAbortController(),
    } as const;
    const member = await clock.advanceUntil(joinGroup(session, PATHS, options));
    onTestFinished(() => clock.advanceUntil(leaveGroup(session, PATHS, member, false)));
    const atServer = sessionAt(server, session);
    onTestFinished(() => atServer.heal());
    return { session, member, node: member.entry.node, silence: () => atServer.partition() };
  };
  const watch = () => {
    const told = { changes: 0, errors: [] as unknown[] };
    const watching = new MemberWatch(observer, PATHS, NEVER_THERE.replace(/7$/, '1'), {
      onChange: () => {
        told.changes++;
      },
      onError: (error) => told.errors.push(error),
    });
    onTestFinished(() => watching.stop());
    return { watching, told };
  };
  /** From now on no listing that the observer gets shows that node. */
  const hide = (node: string) => {
    const list = observer.listChildren.bind(observer);
    vi.spyOn(observer, 'listChildren').mockImplementation(async (...asked) => {
      const names = (await list(...asked)).strings().filter((name) => name !== node);
      return { strings: () => names } as unknown as ChildNames;
    });
  };
  const tombstones = () => server.paths(PATHS.tombstones).filter((path) => path !== PATHS.tombstones);
  return { clock, server, observer, open, join, watch, hide, tombstones };
}

describe('the watch of a group’s members', () => {
  it('writes no tombstone of a live member that a record names before it has looked', async () => {
    const { clock, join, watch, tombstones } = await setUp();
    const { node } = await join('a');
    const { watching } = watch();
    watching.noteNamed(node);
    await clock.advance(10 * DELAY_MS);
    expect(tombstones()).toEqual([]);
    expect(watching.present.map(({ id }) => id)).toEqual(['a']);
  });

  it('writes none of a live member that no listing shows', async () => {
    const { clock, join, watch, hide, tombstones } = await setUp();
    const { node, member } = await join('a');
    const { watching, told } = watch();
    await clock.advance(100);
    hide(node);
    watching.noteNamed(node);
    for (let waited = 0; waited < 10; waited++) {
      await clock.advance(DELAY_MS);
      watching.noteNamed(node); // As with each plan.
    }
    expect([tombstones(), told.errors, member.node.isHeld()]).toEqual([[], [], true]);
    vi.restoreAllMocks();
    await clock.advance(TIMES.leaseMs);
    expect(watching.present.map(({ id }) => id)).toEqual(['a']);
  });

  it('counts the delay of a member that is gone from the servers’ proof, not from the listing that didn’t show it', async () => {
    const { clock, join, watch, hide, tombstones } = await setUp();
    const { node, session } = await join('a');
    const { watching } = watch();
    await clock.advance(100);
    hide(node);
    watching.noteNamed(node);
    await clock.advance(DELAY_MS - TIMES.leaseMs / 2);
    await clock.advanceUntil(session.close());
    const lookedAgain = TIMES.leaseMs / 4 + 100;
    watching.noteNamed(node);
    await clock.advance(DELAY_MS - 10);
    expect(tombstones()).toEqual([]);
    watching.noteNamed(node);
    await clock.advance(lookedAgain);
    expect(tombstones()).toEqual([PATHS.tombstoneOf(node)]);
  });

  it('writes one of a member that a record names and that is gone, a delay after it has seen that, with no trace of its proof: no child, and no change of the members’ node but what goes with the tombstone', async () => {
    const { clock, server, observer, watch, tombstones } = await setUp();
    const { watching } = watch();
    await clock.advance(100);
    const before = await clock.advanceUntil(observer.getData(PATHS.members));
    watching.noteNamed(NEVER_THERE);
    await clock.advance(DELAY_MS - 10);
    const proved = await clock.advanceUntil(observer.getData(PATHS.members));
    expect([proved.stat.version, tombstones()]).toEqual([before.stat.version, []]);
    await clock.advance(100);
    const buried = await clock.advanceUntil(observer.getData(PATHS.members));
    expect(buried.stat.version).toBe(before.stat.version + 1);
    expect(tombstones()).toEqual([PATHS.tombstoneOf(NEVER_THERE)]);
    expect(server.paths(PATHS.members)).toEqual([PATHS.members]);
  });

  it('reports once that the servers refuse the proof, and goes on when they don’t', async () => {
    const { clock, server, watch, tombstones } = await setUp();
    const { watching, told } = watch();
    await clock.advance(100);
    const fault = server.failWith('NO_AUTH', { operation: 'multi' });
    watching.noteNamed(NEVER_THERE);
    await clock.advance(3 * DELAY_MS);
    expect(told.errors).toMatchObject([{ code: 'NO_AUTH' }]);
    expect(fault.hits).toBeLessThan(20);
    fault.clear();
    await clock.advance(DELAY_MS + TIMES.leaseMs / 4 + 100);
    expect(tombstones()).toEqual([PATHS.tombstoneOf(NEVER_THERE)]);
  });

  it('reports once that the servers refuse the tombstone of a silent member, and writes it when they don’t', async () => {
    const { clock, server, join, watch, tombstones } = await setUp();
    const { node, silence } = await join('a');
    const { told } = watch();
    await clock.advance(100);
    silence();
    const fault = server.failWith('NO_AUTH', { operation: 'multi', path: PATHS.tombstoneOf(node) });
    await clock.advance(2 * DELAY_MS);
    expect(told.errors).toMatchObject([{ code: 'NO_AUTH' }]);
    expect(fault.hits).toBeLessThan(10);
    fault.clear();
    await clock.advance(TIMES.leaseMs);
    expect(tombstones()).toEqual([PATHS.tombstoneOf(node)]);
  });

  it('writes none of a member whose heartbeat comes right before it', async () => {
    const { clock, server, join, observer, watch, tombstones } = await setUp();
    const { node, silence } = await join('a');
    const { watching } = watch();
    await clock.advance(100);
    silence();
    const commit = observer.commit.bind(observer);
    let beats = 0;
    vi.spyOn(observer, 'commit').mockImplementation(async (parts) => {
      if (beats++ === 0) await observer.setData(`${PATHS.members}/${heartbeatNodeOf(node)}`, Buffer.alloc(0));
      return await commit(parts);
    });
    await clock.advance(DELAY_MS + TIMES.leaseMs / 2);
    expect([beats, tombstones()]).toEqual([1, []]);
    expect(server.paths(PATHS.members)).toContain(`${PATHS.members}/${node}`);
    await clock.advance(DELAY_MS + TIMES.leaseMs / 2);
    expect([tombstones(), watching.present]).toEqual([[PATHS.tombstoneOf(node)], []]);
  });

  it('writes none of a member whose heartbeats come to a version again that was seen before an outage, as in a restored backup', async () => {
    const { clock, server, open, join, observer, watch, tombstones } = await setUp();
    const { member, node, session, silence } = await join('a');
    const restorer = await open({ sessionTimeoutMs: 60_000 });
    watch();
    const heartbeats = `${PATHS.members}/${heartbeatNodeOf(node)}`;
    await clock.advance(TIMES.leaseMs);
    const answered = (await clock.advanceUntil(observer.exists(heartbeats)))?.version as number;
    silence();
    // A heartbeat that is committed and never answered, which the observer sees.
    await clock.advanceUntil(observer.setData(heartbeats, Buffer.alloc(0)));
    server.resetCounts();
    const isSeen = () =>
      server.requests.some(({ operation, paths }) => operation === 'exists' && paths[0] === heartbeats);
    while (!isSeen()) await clock.advance(1);
    // When the delay is over, the observer has no connection.
    sessionAt(server, observer).partition();
    server.refuse();
    server.dropConnections();
    await clock.advance(DELAY_MS + 10);
    expect(observer.state.name).toBe('suspended');
    server.admit();
    await clock.advanceUntil(restorer.remove(heartbeats));
    await clock.advanceUntil(restorer.create(heartbeats, { mode: 'ephemeral' }));
    for (let version = 0; version < answered; version++)
      await clock.advanceUntil(restorer.setData(heartbeats, Buffer.alloc(0)));
    sessionAt(server, session).heal();
    while (!member.node.isHeld()) await clock.advance(5);
    expect((await clock.advanceUntil(restorer.exists(heartbeats)))?.version).toBe(answered + 1);
    silence(); // No further heartbeat raises the version.
    sessionAt(server, observer).heal();
    await clock.advanceUntil(observer.whenConnected());
    await clock.advance(50);
    expect([tombstones(), member.node.isHeld()]).toEqual([[], true]);
  });

  it('asks for a heartbeat node that another client has deleted no more often after an outage than before', async () => {
    const { clock, server, join, observer, watch } = await setUp();
    const { node, silence } = await join('a');
    watch();
    const heartbeats = `${PATHS.members}/${heartbeatNodeOf(node)}`;
    await clock.advance(TIMES.leaseMs);
    silence();
    await clock.advance(TIMES.leaseMs);
    await clock.advanceUntil(observer.remove(heartbeats));
    server.dropConnections();
    await clock.advanceUntil(observer.whenConnected());
    await clock.advance(TIMES.leaseMs);
    server.resetCounts();
    await clock.advance(2 * TIMES.leaseMs);
    const asked = server.requests.filter(
      ({ operation, paths }) => operation === 'exists' && paths[0] === heartbeats,
    );
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.length).toBeLessThan(12); // Each quarter of a lease, and once more after a tombstone that was refused.
  });

  it('asks no more often, and reports as often, when a server refuses to show a heartbeat node after an outage', async () => {
    const { clock, server, join, observer, watch, tombstones } = await setUp();
    const { node, silence } = await join('a');
    const { told } = watch();
    const heartbeats = `${PATHS.members}/${heartbeatNodeOf(node)}`;
    await clock.advance(TIMES.leaseMs);
    silence();
    await clock.advance(DELAY_MS - 300);
    const refusal = server.failWith('SYSTEM_ERROR', { operation: 'exists', path: heartbeats, times: 1000 });
    server.dropConnections();
    await clock.advanceUntil(observer.whenConnected());
    await clock.advance(TIMES.leaseMs);
    expect(refusal.hits).toBeGreaterThan(2);
    expect(refusal.hits).toBeLessThan(10);
    expect(told.errors.length).toBe(refusal.hits);
    refusal.clear();
    await clock.advance(TIMES.leaseMs);
    expect(tombstones()).toEqual([PATHS.tombstoneOf(node)]);
  });

  it('writes none of a member that has gone if no record names it', async () => {
    const { clock, join, watch, tombstones } = await setUp();
    const { session, member } = await join('a');
    const { watching, told } = watch();
    await clock.advance(100);
    const before = told.changes;
    await clock.advanceUntil(leaveGroup(session, PATHS, member, false));
    await clock.advance(10 * DELAY_MS);
    expect([tombstones(), watching.present]).toEqual([[], []]);
    expect(told.changes).toBeGreaterThan(before);
  });

  it('tells of a member that has come though the look that has shown it wasn’t answered in full', async () => {
    const { clock, server, join, watch } = await setUp();
    const { told } = watch();
    await clock.advance(100);
    const before = told.changes;
    server.failWith('SYSTEM_ERROR', { operation: 'exists', times: 1 });
    await join('a');
    await clock.advance(TIMES.leaseMs);
    expect(told.changes).toBeGreaterThan(before);
  });
});

describe('a planner', () => {
  it('plans nothing before all members have been looked at', async () => {
    const { clock, server, join } = await startGroup({ shards: 2 });
    server.delay(300, { only: 'getChildren', path: PATHS.members });
    const { plans } = await join('a');
    await clock.advance(2 * TIMES.leaseMs);
    expect([...(plans[0]?.values() ?? [])]).toEqual(['a', 'a']);
  });

  it('leaves a tombstone as long as a record names its member', async () => {
    const { clock, server, open, join, list } = await startGroup({ shards: 2 });
    const session = await open(TIMES);
    await clock.advanceUntil(prepareGroup(session, PATHS, list, new LazyAbortController()));
    const record = PATHS.recordOf('0');
    const held = { state: 'held', term: 1, node: NEVER_THERE, leaseMs: TIMES.leaseMs } as const;
    await clock.advanceUntil(session.setData(record, serializeRecord(held)));
    await permitAll(server, record, PERMISSION.read); // No claim is carried out.
    const { member, errors } = await join('a');
    const isThere = () => server.paths(PATHS.tombstones).includes(PATHS.tombstoneOf(NEVER_THERE));
    await clock.advanceUntil(() => isThere());
    await clock.advance(TIMES.leaseMs / 4);
    expect([isThere(), member.lacking]).toEqual([true, ['0']]);
    expect(errors.splice(0)).toContainEqual(expect.objectContaining({ code: 'NO_AUTH', path: record }));
    await permitAll(server, record, PERMISSION.all);
    await clock.advance(2 * TIMES.leaseMs);
    expect(member.lacking).toEqual([]);
  });
});

import { describe, expect, it, onTestFinished } from 'vitest';
import { candidateUuid } from '../../../../src/election/nodes/candidate-uuid.js';
import { takeoverDelayMs } from '../../../../src/election/term/takeover-delay.js';
import { LazyAbortController } from '../../../../src/platform/async/lazy-abort.js';
import { MemberWatch } from '../../../../src/shards/members/member-watch.js';
import { joinGroup, leaveGroup } from '../../../../src/shards/members/membership.js';
import { GroupPaths } from '../../../../src/shards/nodes/group-paths.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const PATHS = new GroupPaths('/group');
const TIMES = { sessionTimeoutMs: 10_000, leaseMs: 2000 };
const DELAY_MS = takeoverDelayMs(TIMES.leaseMs);
const UUID = candidateUuid('0f8fad5b-d9cb-469f-a165-70867728950e', 0, {
  leaseMs: TIMES.leaseMs,
  takeover: 'lease',
});
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
      takeover: 'lease',
      signal: new LazyAbortController(),
    } as const;
    const member = await clock.advanceUntil(joinGroup(session, PATHS, options));
    onTestFinished(() => clock.advanceUntil(leaveGroup(session, PATHS, member, false)));
    return { session, member, node: member.entry.node };
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
  const tombstones = () => server.paths(PATHS.tombstones).filter((path) => path !== PATHS.tombstones);
  return { clock, server, observer, join, watch, tombstones };
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

  it('writes one of a member that a record names and that is gone, a delay after it has seen that', async () => {
    const { clock, watch, tombstones } = await setUp();
    const { watching } = watch();
    await clock.advance(100);
    watching.noteNamed(NEVER_THERE);
    await clock.advance(DELAY_MS - 10);
    expect(tombstones()).toEqual([]);
    await clock.advance(100);
    expect(tombstones()).toEqual([PATHS.tombstoneOf(NEVER_THERE)]);
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

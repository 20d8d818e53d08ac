import { describe, expect, it } from 'vitest';
import { LazyAbortController } from '../../../../src/platform/async/lazy-abort-controller.js';
import { joinGroup, leaveGroup } from '../../../../src/shards/members/join-and-leave.js';
import { PATHS, TIMES } from '../../../support/conclave/group-members.js';
import { setUpOwners } from '../../../support/conclave/shard-owners.js';

const OPTIONS = {
  data: { id: 'a', weight: 1 },
  signal: new LazyAbortController(),
} as const;

async function setUp() {
  const { clock, server, open } = await setUpOwners();
  const session = await open(TIMES);
  const join = () => joinGroup(session, PATHS, OPTIONS);
  const members = () => server.paths(PATHS.members).filter((path) => path !== PATHS.members);
  const tombstones = () => server.paths(PATHS.tombstones).filter((path) => path !== PATHS.tombstones);
  return { clock, server, session, join, members, tombstones };
}

describe('a join that fails', () => {
  it.each([
    ['its heartbeat node is refused', { operation: 'multi', path: /\/_h_/ }],
    ['it may not tell the others', { operation: 'multi', path: PATHS.members }],
  ] as const)('leaves no node that others would plan for: %s', async (_, target) => {
    const { clock, server, join, session, members } = await setUp();
    const fault = server.failWith('NO_AUTH', target);
    const joining = clock.advanceUntil(join());
    await expect(joining).rejects.toThrow();
    fault.clear();
    await clock.advance(TIMES.leaseMs);
    expect(members()).toEqual([]);
    expect(session.state.name).toBe('connected');
    const member = await clock.advanceUntil(join());
    expect(members()).toHaveLength(2);
    await clock.advanceUntil(leaveGroup(session, PATHS, member, false));
  });
});

describe('a member that leaves', () => {
  it.each([true, false])(
    'has no node any more, and a tombstone if a record may name it: %s',
    async (mayBeNamed) => {
      const { clock, join, session, members, tombstones } = await setUp();
      const member = await clock.advanceUntil(join());
      await clock.advanceUntil(leaveGroup(session, PATHS, member, mayBeNamed));
      expect(members()).toEqual([]);
      expect(tombstones()).toEqual(mayBeNamed ? [PATHS.tombstoneOf(member.entry.node)] : []);
    },
  );

  it('has none, too, if it was given up while its node was there', async () => {
    const { clock, join, session, members, tombstones } = await setUp();
    const member = await clock.advanceUntil(join());
    member.node.lose(new Error('its plan is gone'));
    await clock.advanceUntil(leaveGroup(session, PATHS, member, true));
    expect(members()).toEqual([]);
    expect(tombstones()).toHaveLength(1);
  });
});

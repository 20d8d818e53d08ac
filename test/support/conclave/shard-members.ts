import { expect, onTestFinished } from 'vitest';
import { LazyAbortController } from '../../../src/platform/async/lazy-abort.js';
import { GroupMember, type GroupMemberListener } from '../../../src/shards/group-member.js';
import { ShardList } from '../../../src/shards/nodes/shard-list.js';
import type { OwnedShard } from '../../../src/shards/ownership/shard.js';
import { startWithTestClock } from '../servers/embedded-with-test-clock.js';

export const GROUP = '/group';
export const TIMES = { sessionTimeoutMs: 10_000, leaseMs: 2000 };
/** By then a plan is written and carried out. */
export const A_WHILE_MS = 1000;

/** A member, as the test uses it. */
interface Owning {
  readonly id: string;
  owned(): string[];
}

/** A server of the test's own, and members of a group with sessions of their own, in time that stands still until the clock is moved. */
export async function startGroup({ shards = 8 }: { shards?: number | string[] } = {}) {
  const { clock, server, open } = await startWithTestClock();
  const list = ShardList.of(shards);
  const join = async (
    id: string,
    { data, run = () => undefined }: { data?: string; run?: (shard: OwnedShard) => unknown } = {},
  ) => {
    const session = await open(TIMES);
    const { id: sessionId } = session.credentials;
    const atServer = server.sessions().find((each) => each.id === sessionId);
    const errors: unknown[] = [];
    const listener: GroupMemberListener = {
      onAcquired: (shard) => shard.work(() => run(shard)),
      onEnded: () => undefined,
      onWorkFailed: (_, cause) => errors.push(cause),
      onOverrun: () => undefined,
      onError: (error) => errors.push(error),
      onPlanned: () => undefined,
    };
    const options = {
      ...({ id, weight: 1, shards: list, takeover: 'lease', settleMs: 100 } as const),
      ...(data !== undefined && { data }),
    };
    const joining = GroupMember.join(session, GROUP, options, listener, new LazyAbortController());
    const member = await clock.advanceUntil(joining);
    onTestFinished(async () => {
      atServer?.heal();
      await clock.advanceUntil(member.leave());
      expect(errors).toEqual([]);
    });
    const owned = () => member.owned.map((shard) => shard.id).sort();
    const expire = () => {
      atServer?.partition();
      atServer?.expire();
    };
    return { id, member, session, errors, owned, expire, silence: () => atServer?.partition() };
  };
  /** By shard, its owners by the members' own answers. */
  const ownersAmong = (members: readonly Owning[]) =>
    Object.fromEntries(members.flatMap(({ id, owned }) => owned().map((shard) => [shard, id])));
  return { clock, server, open, join, list, ownersAmong };
}

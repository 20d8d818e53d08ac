import { expect, onTestFinished, vi } from 'vitest';
import { takeoverDelayMs } from '../../../src/lease/failure-detector.js';
import { LazyAbortController } from '../../../src/platform/async/lazy-abort-controller.js';
import { GroupMember, type GroupMemberOptions } from '../../../src/shards/group-member.js';
import type { OwnedShard } from '../../../src/shards/ownership/owned-shard.js';
import { type MemberReport, parsePlan } from '../../../src/shards/stored/data-formats.js';
import { GroupPaths } from '../../../src/shards/stored/group-paths.js';
import { ShardList } from '../../../src/shards/stored/shard-list.js';
import { sessionAt, startWithTestClock } from '../servers/embedded-with-test-clock.js';
import { recordShards } from './shard-recorder.js';

/** The group of {@link startGroup}. */
export const GROUP = '/group';
export const PATHS = new GroupPaths(GROUP);
export const TIMES = { sessionTimeoutMs: 10_000, leaseMs: 2000 };
export const DELAY_MS = takeoverDelayMs(TIMES.leaseMs);
/** Long enough to plan and carry out what is due. */
export const A_WHILE_MS = 1000;
/** By then others own a silent member's shards: the delay, one read, and the steps that follow at once. */
export const REPLACED_MS = DELAY_MS + TIMES.leaseMs / 4 + 200;

/** How a member of {@link startGroup} differs from the others. */
export interface JoinOptions extends Partial<GroupMemberOptions> {
  /** The work of each shard. */
  readonly run?: (shard: OwnedShard) => unknown;
}

export type JoinedMember = Awaited<ReturnType<Awaited<ReturnType<typeof startGroup>>['join']>>;

/** Members with sessions of their own on an embedded server, in time that stands still, and the notifications of each. */
export async function startGroup({ shards = 8 }: { shards?: number | string[] } = {}) {
  const { clock, server, open } = await startWithTestClock();
  const list = ShardList.of(shards);
  /** The notifications of all members, in order. */
  const acquired: { id: string; shard: OwnedShard }[] = [];
  /** The warnings that the members' sessions have logged. */
  const warnings: string[] = [];
  const join = async (id: string, { run = () => undefined, ...given }: JoinOptions = {}) => {
    const session = await open(TIMES);
    vi.spyOn(session.logger, 'warn').mockImplementation((_, message) => void warnings.push(message));
    const atServer = sessionAt(server, session);
    const { told, errors, listener } = recordShards((shard) => {
      acquired.push({ id, shard });
      return run(shard);
    });
    const plans: ReadonlyMap<string, string>[] = [];
    const options: GroupMemberOptions = {
      ...{ id, weight: 1, shards: list },
      ...given,
    };
    const joining = GroupMember.join(
      session,
      GROUP,
      options,
      { ...listener, onPlanned: (planned) => plans.push(planned) },
      new LazyAbortController(),
    );
    const member = await clock.advanceUntil(joining);
    onTestFinished(async () => {
      atServer.heal();
      await clock.advanceUntil(member.leave());
      expect(errors).toEqual([]);
    });
    return {
      ...{ id, member, session, told, errors },
      /** The plans that it has written as the planner. */
      plans,
      /** Its own plan. */
      get plannedFor() {
        const path = atServer.ephemerals.find((each) => each.startsWith(`${PATHS.plans}/`)) as string;
        return parsePlan(server.data(path) as Buffer, { list, version: 0 })?.shards;
      },
      silence: () => atServer.partition(),
      expire: () => atServer.expire(),
    };
  };
  type Member = Awaited<ReturnType<typeof join>>;
  /** Joins, and waits until what is due has been planned and carried out. */
  const joinAndWait = async (...given: Parameters<typeof join>) => {
    const member = await join(...given);
    await clock.advance(A_WHILE_MS);
    return member;
  };
  /** Members that have joined in this order, and share the shards by now. */
  const joinAll = async <Ids extends readonly string[]>(...ids: Ids) => {
    const members: Member[] = [];
    for (const id of ids) members.push(await join(id));
    await clock.advance(A_WHILE_MS);
    return members as unknown as { [At in keyof Ids]: Member };
  };
  /** The member reports that, and what is due has been planned and carried out. */
  const report = async ({ member }: Pick<Member, 'member'>, said: Partial<MemberReport>) => {
    member.report(said);
    await clock.advance(A_WHILE_MS);
  };
  /** The member has left, and the others own its shards. */
  const leave = async ({ member }: Pick<Member, 'member'>) => {
    await clock.advanceUntil(member.leave());
    await clock.advance(A_WHILE_MS);
  };
  const idsOf = ({ member }: { member: GroupMember }) => member.owned.map(({ id }) => id).sort();
  /** Who owns each shard at this moment, by the members' own answers. */
  const ownersOf = (id: string) =>
    acquired.filter(({ shard }) => shard.id === id && shard.isHeld()).map((each) => each.id);
  /** By shard, its owner by the members' own answers. */
  const ownersAmong = (members: readonly { readonly id: string; readonly member: GroupMember }[]) =>
    Object.fromEntries(members.flatMap((each) => idsOf(each).map((shard) => [shard, each.id])));
  const expectAllOwnedOnce = () => {
    expect(list.ids.map((id) => ownersOf(id).length)).toEqual(list.ids.map(() => 1));
  };
  /** The node's present data. */
  const dataOf = async (path: string) => {
    const session = await open(TIMES);
    const { data } = await clock.advanceUntil(session.getData(path));
    return JSON.parse(String(data)) as unknown;
  };
  const told = { acquired, warnings };
  const owners = { idsOf, ownersOf, ownersAmong, expectAllOwnedOnce };
  const members = { join, joinAndWait, joinAll, report, leave };
  return { clock, server, open, ...members, list, ...told, ...owners, dataOf };
}

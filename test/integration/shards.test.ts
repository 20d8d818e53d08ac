import { describe, expect, it, onTestFinished } from 'vitest';
import { LazyAbortController } from '../../src/platform/async/lazy-abort-controller.js';
import { GroupMember, type GroupMemberOptions } from '../../src/shards/group-member.js';
import type { OwnedShard } from '../../src/shards/ownership/owned-shard.js';
import { changePins } from '../../src/shards/pinned-shards.js';
import { resizeGroup, untilGivenBack } from '../../src/shards/read-and-resize-group.js';
import { GroupPaths } from '../../src/shards/stored/group-paths.js';
import { ShardList } from '../../src/shards/stored/shard-list.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { until } from '../support/waiting.mjs';

const SHARDS = ShardList.of(12);

interface Member {
  readonly id: string;
  readonly member: GroupMember;
  readonly ended: string[];
}

async function join(
  path: string,
  id: string,
  session = openSession(),
  given: Partial<GroupMemberOptions> = {},
): Promise<Member> {
  const ended: string[] = [];
  const errors: unknown[] = [];
  const options = { id, weight: 1, shards: SHARDS, ...given } as const;
  const listener = {
    onAcquired: () => undefined,
    onEnded: ({ id: shard, endedFor }: OwnedShard) => ended.push(`${endedFor} ${shard}`),
    onWorkFailed: (_: OwnedShard, cause: unknown) => errors.push(cause),
    onOverrun: () => undefined,
    onError: (error: unknown) => errors.push(error),
    onPlanned: () => undefined,
  };
  const member = await GroupMember.join(await session, path, options, listener, new LazyAbortController());
  onTestFinished(async () => {
    await member.leave();
    expect(errors).toEqual([]);
  });
  return { id, member, ended };
}

/** How many shards each of them owns at this moment. */
function counts(members: readonly Member[]): number[] {
  return members.map(({ member }) => member.owned.filter((shard) => shard.isHeld()).length);
}

/** By shard, who owns it. */
function owners(members: readonly Member[]): string[] {
  return SHARDS.ids.map((shard) =>
    members
      .filter(({ member }) => member.owned.some((each) => each.id === shard && each.isHeld()))
      .map(({ id }) => id)
      .join(' and '),
  );
}

describe('a group of shards', () => {
  it('is shared out anew as members come and go, and a shard that stays hears nothing of it', async () => {
    const path = uniquePath('shards');
    const [first, second] = [await join(path, 'a'), await join(path, 'b')];
    await until(() => counts([first, second]).join() === '6,6');
    const third = await join(path, 'c');
    await until(() => counts([first, second, third]).join() === '4,4,4');
    expect(new Set(owners([first, second, third]))).toEqual(new Set(['a', 'b', 'c']));
    const before = first.ended.length;
    await third.member.leave();
    await until(() => counts([first, second]).join() === '6,6');
    expect(first.ended).toHaveLength(before);
    expect(owners([first, second]).every((owner) => owner === 'a' || owner === 'b')).toBe(true);
  });

  it('follows pins, reports and another number of shards, and moves nothing else', async () => {
    const path = uniquePath('shards');
    const [paths, operator] = [new GroupPaths(path), await openSession()];
    const members = [
      await join(path, 'a'),
      await join(path, 'b', openSession(), { prepares: true }),
    ] as const;
    const [first, second] = members;
    second.member.report({ ready: SHARDS.ids });
    await until(() => counts(members).join() === '6,6');
    await resizeGroup(operator, paths, 16);
    await until(() => counts(members).join() === '8,8');
    expect(first.ended.length + second.ended.length).toBeLessThanOrEqual(6); // As long as the first one was alone, it had all.
    await resizeGroup(operator, paths, 12);
    await until(() => counts(members).join() === '6,6');
    const [pinned] = first.member.owned as [OwnedShard];
    await changePins(operator, paths, (pins) => pins.set(pinned.id, 'b'));
    await until(() => second.member.owned.some(({ id }) => id === pinned.id));
    second.member.report({ draining: true });
    await until(() => counts(members).join() === '12,0');
  });
});

it('the wait for removed shards rejects with the refusal if the servers do not show the record of one', async () => {
  const paths = new GroupPaths(uniquePath('shards'));
  const owner = await openSession({ auth: { scheme: 'digest', credentials: 'alice:wonder' } });
  const everything = { scheme: 'auth', id: '', permissions: 31 };
  const access = [everything, { scheme: 'world', id: 'anyone', permissions: 1 }];
  await owner.create(paths.group, { data: ShardList.of(4).serialize(), access });
  for (const path of [paths.records, paths.members]) await owner.create(path, { access });
  await owner.create(paths.recordOf('7'), { access: [everything] });
  const signal = new AbortController().signal;
  await untilGivenBack(owner, paths, signal);
  await expect(untilGivenBack(await openSession(), paths, signal)).rejects.toMatchObject({
    code: 'NO_AUTH',
  });
});

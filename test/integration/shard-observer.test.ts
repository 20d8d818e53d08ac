import { describe, expect, it, onTestFinished } from 'vitest';
import { LazyAbortController } from '../../src/platform/async/lazy-abort-controller.js';
import { GroupMember } from '../../src/shards/group-member.js';
import type { ShardObserver } from '../../src/shards/observer/observer.js';
import { ShardList } from '../../src/shards/stored/shard-list.js';
import { oneAfterTheOther } from '../support/conclave/observers.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { idsOf, observerOf } from '../support/conclave/shard-observers.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { until } from '../support/waiting.mjs';

const SHARDS = ShardList.of(12);

async function join(path: string, id: string, session = openSession()): Promise<GroupMember> {
  const errors: unknown[] = [];
  const options = {
    id,
    weight: 1,
    data: `at ${id}`,
    shards: SHARDS,
  } as const;
  const listener = {
    onAcquired: () => undefined,
    onEnded: () => undefined,
    onWorkFailed: (_: unknown, cause: unknown) => errors.push(cause),
    onOverrun: () => undefined,
    onError: (error: unknown) => errors.push(error),
    onPlanned: () => undefined,
  };
  const member = await GroupMember.join(await session, path, options, listener, new LazyAbortController());
  onTestFinished(async () => {
    await member.leave();
    expect(errors).toEqual([]);
  });
  return member;
}

const observe = (...given: ConstructorParameters<typeof ShardObserver>) =>
  observerOf((promise) => promise, ...given);

/** By shard, who owns it by the members' own answers. */
const ownersAmong = (members: Readonly<Record<string, GroupMember>>) =>
  Object.fromEntries(
    Object.entries(members).flatMap(([id, { owned }]) => owned.map((shard) => [shard.id, id])),
  );

/** Resolves when each member has its part, and the observer shows what they say. */
const showsAll = (observer: ShardObserver, members: Readonly<Record<string, GroupMember>>) =>
  until(() => {
    const [shown, said] = [idsOf(observer.owners), ownersAmong(members)];
    const isSame = SHARDS.ids.every((shard) => said[shard] !== undefined && shown[shard] === said[shard]);
    const all = Object.values(members);
    const isShared = all.every(({ owned }) => owned.length === SHARDS.count / all.length);
    return isSame && isShared && observer.members.length === all.length;
  }, 'all owners');

describe('an observer of shards', () => {
  it('shows who owns what from before the group is made, as members come and go', async () => {
    const path = uniquePath('shards');
    const { observer, changes, errors } = observe(await openSession(), path);
    await observer.start();
    expect([observer.owners.size, observer.members]).toEqual([0, []]);
    const a = await join(path, 'a');
    await showsAll(observer, { a });
    const b = await join(path, 'b');
    await showsAll(observer, { a, b });
    expect(observer.ownerOf('order-17')?.data).toMatch(/^at [ab]$/);
    const c = await join(path, 'c');
    await showsAll(observer, { a, b, c });
    const before = changes.length;
    const moved = new Set(c.owned.map(({ id }) => id));
    await c.leave();
    await showsAll(observer, { a, b });
    expect(new Set(changes.slice(before).flatMap((change) => Object.keys(change)))).toEqual(moved);
    expect(errors).toEqual([]);
  });

  it('shows a silent member’s shards as others’ when these have them', async () => {
    const path = uniquePath('shards');
    const proxy = await startProxy();
    const times = { sessionTimeoutMs: 6000, leaseMs: 1000 };
    const silent = await join(path, 'silent', openSession(times, proxy.connectString));
    const a = await join(path, 'a', openSession(times));
    const { observer } = observe(await openSession(), path);
    await observer.start();
    await showsAll(observer, { silent, a });
    const restore = proxy.partition();
    await showsAll(observer, { a });
    restore();
  });

  it('goes on with the next session, and shows what happened over lost connections', async () => {
    const path = uniquePath('shards');
    const proxy = await startProxy();
    const a = await join(path, 'a');
    const [first, second] = [await openSession(), await openSession({}, proxy.connectString)];
    const { observer, errors } = observe(oneAfterTheOther(first, second), path);
    await observer.start();
    await showsAll(observer, { a });
    await first.close();
    await until(() => observer.owners.size === 12, 'the owners by the next session');
    proxy.dropConnections();
    const b = await join(path, 'b');
    await showsAll(observer, { a, b });
    proxy.dropConnections();
    await b.leave();
    await showsAll(observer, { a });
    expect(errors).toEqual([]);
  });
});

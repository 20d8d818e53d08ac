import { describe, expect, it, onTestFinished } from 'vitest';
import { FollowedPlan } from '../../../../src/shards/members/followed-plan.js';
import { serializePlan } from '../../../../src/shards/stored/data-formats.js';
import { ShardList } from '../../../../src/shards/stored/shard-list.js';
import { GROUP, PATHS } from '../../../support/conclave/group-members.js';
import { setUpOwners } from '../../../support/conclave/shard-owners.js';

async function setUp(shards: number | string[] = 8) {
  const { clock, join, outsider: other } = await setUpOwners({ shards });
  const { member } = await join('a');
  const writeList = async (list: ShardList) => {
    const { version } = await clock.advanceUntil(other.setData(GROUP, list.serialize()));
    return { list, version };
  };
  const known = await writeList(ShardList.of(shards));
  const told: string[] = [];
  const errors: unknown[] = [];
  const followed = new FollowedPlan(PATHS, member, known, {
    onShards: ({ list }) => told.push(`the group has ${list.toString()}`),
    onPlan: (planned) => told.push(planned.join()),
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => followed.stop());
  await clock.advance(10);
  const plan = PATHS.planOf(member.entry.node);
  const writePlan = async (planned: string[], for_ = known) => {
    await clock.advanceUntil(other.setData(plan, serializePlan(planned, for_)));
    await clock.advance(10);
  };
  const news = () => told.splice(0);
  return { clock, other, member, followed, known, plan, errors, writeList, writePlan, news };
}

describe('a member’s plan', () => {
  it('is followed from the first on', async () => {
    const { news, writePlan } = await setUp();
    expect(news()).toEqual(['']);
    await writePlan(['1', '2']);
    await writePlan(['2', '5']);
    expect(news()).toEqual(['1,2', '2,5']);
  });

  it('for a list that isn’t known yet counts when that has come', async () => {
    const { clock, followed, known, news, writeList, writePlan } = await setUp();
    const next = { list: known.list.changedTo(ShardList.of(16)), version: known.version + 1 };
    await writePlan(['1', '12'], next);
    expect(news()).toEqual(['']);
    await writeList(next.list);
    await clock.advance(10);
    expect(news()).toEqual(['the group has 16 shards', '1,12']);
    expect(followed.shards.version).toBe(next.version);
  });

  it('for a former list is ignored, and what was planned before holds, but for shards that are gone', async () => {
    const { clock, known, news, writeList, writePlan } = await setUp(['eu', 'us', 'asia']);
    await writePlan(['us', 'asia']);
    const next = await writeList(known.list.changedTo(ShardList.of(['us', 'eu'])));
    await clock.advance(10);
    await writePlan(['eu']);
    expect(news()).toEqual(['', 'us,asia', 'the group has shards with 2 names', 'us']);
    await writePlan(['eu'], next);
    expect(news()).toEqual(['eu']);
  });

  it('that can’t be read is reported, and the former one holds; so it is with the list', async () => {
    const { clock, other, errors, member, news, plan } = await setUp();
    await clock.advanceUntil(other.setData(plan, Buffer.from('{')));
    await clock.advanceUntil(other.setData(GROUP, Buffer.from('{')));
    await clock.advance(10);
    expect(news()).toEqual(['']);
    expect(errors.map(String)).toEqual([
      `Error: the plan ${plan} can't be read`,
      `Error: ${GROUP} does not say which shards the group has: the member goes on with the shards that it named before`,
    ]);
    expect(member.node.isGone).toBe(false);
  });

  it('that is deleted by another client is the end of its member', async () => {
    const { clock, other, member, plan } = await setUp();
    await clock.advanceUntil(other.remove(plan));
    await clock.advance(10);
    expect(String(member.node.lost.reason)).toBe(
      `NodeLostError: the member is lost: ${plan} was deleted by another client`,
    );
  });
});

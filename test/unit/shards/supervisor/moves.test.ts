import { describe, expect, it } from 'vitest';
import { ShardFailedError } from '../../../../src/errors.js';
import { MOST_CALLS } from '../../../../src/shards/supervisor/preparations.js';
import { A_WHILE_MS } from '../../../support/conclave/group-members.js';
import { type SupervisedMember, startSupervisors } from '../../../support/conclave/shard-supervisors.js';

describe('a shard that moves', () => {
  it('stays with its owner until the next one has prepared for it', async () => {
    const { clock, start, idsOf } = await startSupervisors({ shards: 4 });
    const first = await start('a');
    await clock.advance(A_WHILE_MS);
    const ready = new Map<string, () => void>();
    const second = await start('b', {
      prepare: ({ id }) => new Promise<void>((resolve) => void ready.set(id, resolve)),
    });
    await clock.advance(A_WHILE_MS);
    expect([...ready.keys()].sort()).toEqual(['2', '3']);
    expect([idsOf(first), idsOf(second)]).toEqual([['0', '1', '2', '3'], []]);
    ready.get('3')?.();
    await clock.advance(A_WHILE_MS);
    expect([idsOf(first), idsOf(second)]).toEqual([['0', '1', '2'], ['3']]);
    ready.get('2')?.();
    await clock.advance(A_WHILE_MS);
    expect([idsOf(first), idsOf(second)]).toEqual([
      ['0', '1'],
      ['2', '3'],
    ]);
    first.expectNoErrors();
    second.expectNoErrors();
  });

  it('is not waited for longer than 30 s', async () => {
    const { clock, start, idsOf } = await startSupervisors({ shards: 2 });
    const first = await start('a');
    await clock.advance(A_WHILE_MS);
    const second = await start('b', { prepare: () => new Promise(() => undefined) });
    await clock.advance(29_000);
    expect(idsOf(second)).toEqual([]);
    await clock.advance(A_WHILE_MS + 1000);
    expect([idsOf(first), idsOf(second)]).toEqual([['0'], ['1']]);
  });

  it('is prepared for although as many calls as may be under way hang', async () => {
    const { clock, start, idsOf } = await startSupervisors({ shards: 2 * MOST_CALLS });
    const first = await start('a');
    await clock.advance(A_WHILE_MS);
    const called: string[] = [];
    const second = await start('b', {
      prepare: ({ id }) => {
        called.push(id);
        return called.length <= MOST_CALLS ? new Promise(() => undefined) : undefined;
      },
    });
    await clock.advance(30_000 + A_WHILE_MS);
    expect(called).toHaveLength(MOST_CALLS);
    expect(idsOf(second)).toHaveLength(MOST_CALLS);
    await clock.advanceUntil(first.supervisor.drain());
    expect(called).toHaveLength(2 * MOST_CALLS);
    first.expectNoErrors();
    expect(second.errors.map(String)).toEqual(
      called
        .slice(0, MOST_CALLS)
        .map((id) => expect.stringContaining(`the work of shard ${id} failed: prepare has not settled`)),
    );
  });

  it('is reported once when its preparation hangs, also if the shard has come meanwhile', async () => {
    const { clock, start, idsOf } = await startSupervisors({ shards: 2 });
    const first = await start('a');
    await clock.advance(A_WHILE_MS);
    const second = await start('b', { prepare: () => new Promise(() => undefined) });
    await clock.advance(30_000 + A_WHILE_MS);
    expect(idsOf(second)).toEqual(['1']);
    await clock.advance(60_000);
    expect(second.errors).toEqual([expect.any(ShardFailedError)]);
    expect(second.errors[0]?.message).toBe(
      'the work of shard 1 failed: prepare has not settled within 30000 ms',
    );
    expect(idsOf(second)).toEqual(['1']);
    first.expectNoErrors();
  });

  it('stays where it is when the one that was to have it can not prepare', async () => {
    const { clock, start, idsOf } = await startSupervisors({ shards: 2 });
    const first = await start('a');
    await clock.advance(A_WHILE_MS);
    const second = await start('b', {
      prepare: () => {
        throw new Error('cold');
      },
    });
    await clock.advance(A_WHILE_MS);
    expect([idsOf(first), idsOf(second)]).toEqual([['0', '1'], []]);
    expect(first.told).toEqual(['acquired 0', 'acquired 1']);
    expect(second.errors[0]).toBeInstanceOf(ShardFailedError);
    expect(second.errors[0]?.message).toMatch(/^the work of shard [01] failed: cold$/);
  });

  it('is taken without preparation when it has no owner', async () => {
    const { clock, start, idsOf } = await startSupervisors({ shards: 2 });
    const prepared: string[] = [];
    const alone = await start('a', { prepare: ({ id }) => void prepared.push(id) });
    await clock.advance(A_WHILE_MS);
    expect([idsOf(alone), prepared]).toEqual([['0', '1'], []]);
  });

  it('comes home to a member that was restarted, and goes nowhere within its grace', async () => {
    const { clock, start, idsOf } = await startSupervisors();
    const first = await start('a');
    const second = await start('b', { graceMs: 10_000 });
    await clock.advance(A_WHILE_MS);
    const had = idsOf(second);
    const told = first.told.length;
    await clock.advanceUntil(second.supervisor.stop());
    await clock.advance(8000);
    expect(first.told).toHaveLength(told);
    const again = await start('b', { graceMs: 10_000 });
    await clock.advance(A_WHILE_MS);
    expect(idsOf(again)).toEqual(had);
    expect(first.told).toHaveLength(told);
  });

  it('moves at most twice in a rolling restart without grace: there and home', async () => {
    const { clock, start, idsOf } = await startSupervisors({ shards: 16 });
    const ids = ['a', 'b', 'c', 'd'];
    const members = new Map<string, SupervisedMember>();
    for (const id of ids) members.set(id, await start(id));
    await clock.advance(A_WHILE_MS);
    const before = new Map(ids.map((id) => [id, idsOf(members.get(id) as SupervisedMember)]));
    const moves = new Map<string, number>();
    const count = (lines: readonly string[]) => {
      for (const line of lines) {
        const shard = /^acquired (\d+)$/.exec(line)?.[1];
        if (shard !== undefined) moves.set(shard, (moves.get(shard) ?? 0) + 1);
      }
    };
    for (const { told } of members.values()) told.length = 0;
    for (const id of ids) {
      const old = members.get(id);
      await clock.advanceUntil(old?.supervisor.drain() as Promise<void>);
      count(old?.told ?? []);
      members.set(id, await start(id));
      await clock.advance(A_WHILE_MS);
    }
    for (const { told } of members.values()) count(told);
    expect(Math.max(...moves.values())).toBe(2);
    expect(ids.map((id) => idsOf(members.get(id) as SupervisedMember))).toEqual(
      ids.map((id) => before.get(id)),
    );
  });
});

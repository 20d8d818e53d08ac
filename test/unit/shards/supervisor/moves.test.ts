import { describe, expect, it } from 'vitest';
import { ShardFailedError } from '../../../../src/errors.js';
import { MOST_CALLS } from '../../../../src/shards/supervisor/preparations.js';
import { A_WHILE_MS } from '../../../support/conclave/group-members.js';
import { startSupervisors } from '../../../support/conclave/shard-supervisors.js';

describe('a shard that moves', () => {
  it('stays with its owner until the next one has prepared for it', async () => {
    const { clock, startAndWait, idsOf } = await startSupervisors({ shards: 4 });
    const first = await startAndWait('a');
    const ready = new Map<string, () => void>();
    const second = await startAndWait('b', {
      prepare: ({ id }) => new Promise<void>((resolve) => void ready.set(id, resolve)),
    });
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

  it('is prepared for although as many calls as may be under way hang', async () => {
    const { clock, start, startAndWait, idsOf } = await startSupervisors({ shards: 2 * MOST_CALLS });
    const first = await startAndWait('a');
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
    const { clock, start, startAndWait, idsOf } = await startSupervisors({ shards: 2 });
    const first = await startAndWait('a');
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
    const { startAndWait, idsOf } = await startSupervisors({ shards: 2 });
    const first = await startAndWait('a');
    const second = await startAndWait('b', {
      prepare: () => {
        throw new Error('cold');
      },
    });
    expect([idsOf(first), idsOf(second)]).toEqual([['0', '1'], []]);
    expect(first.told).toEqual(['acquired 0', 'acquired 1']);
    expect(second.errors[0]).toBeInstanceOf(ShardFailedError);
    expect(second.errors[0]?.message).toMatch(/^the work of shard [01] failed: cold$/);
  });

  it('is taken without preparation when it has no owner', async () => {
    const { startAndWait, idsOf } = await startSupervisors({ shards: 2 });
    const prepared: string[] = [];
    const alone = await startAndWait('a', { prepare: ({ id }) => void prepared.push(id) });
    expect([idsOf(alone), prepared]).toEqual([['0', '1'], []]);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deferred } from '../../../../src/platform/async/promises.js';
import {
  type Handover,
  HandoverWaits,
  PREPARED_WAIT_MS as TIMEOUT_MS,
} from '../../../../src/shards/planner/handover-waits.js';
import { A_WHILE_MS, startGroup } from '../../../support/conclave/group-members.js';

const PREPARING = { prepares: true } as const;

/** `a` owns four shards, and `b`, which prepares, has joined. */
async function setUp() {
  const group = await startGroup({ shards: 4 });
  const first = await group.joinAndWait('a', PREPARING);
  const second = await group.joinAndWait('b', PREPARING);
  return { ...group, first, second };
}

describe('a shard that passes to a member that prepares', () => {
  it('passes when the time for it is over', async () => {
    const { clock, first, second, idsOf } = await setUp();
    await clock.advance(TIMEOUT_MS - A_WHILE_MS - 10);
    expect(idsOf(first)).toHaveLength(4);
    await clock.advance(A_WHILE_MS);
    expect([idsOf(first), idsOf(second)]).toEqual([
      ['0', '1'],
      ['2', '3'],
    ]);
  });

  it('stays with its owner if that one refuses it, and nothing waits', async () => {
    const { clock, first, second, idsOf } = await setUp();
    second.member.report({ refused: ['3'], ready: ['2'] });
    await clock.advance(2 * TIMEOUT_MS);
    expect([idsOf(first), idsOf(second)]).toEqual([['0', '1', '3'], ['2']]);
    expect(first.told.slice(4)).toEqual(['moved 2']);
  });

  it('is planned for a third one if that one refuses it, which is waited for in its turn', async () => {
    const { join, joinAndWait, report, idsOf, ownersOf } = await startGroup({ shards: 4 });
    const first = await joinAndWait('a', PREPARING);
    const [second, third] = [await join('b', PREPARING), await join('c', PREPARING)];
    await report(first, { draining: true });
    const [refused] = second.plannedFor as [string];
    await report(second, { refused: [refused] });
    expect(third.plannedFor).toContain(refused);
    expect(idsOf(first)).toHaveLength(4);
    await report(third, { ready: [refused] });
    expect(ownersOf(refused)).toEqual(['c']);
    expect(idsOf(first)).toHaveLength(3);
  });

  it('isn’t waited for if it has no live owner', async () => {
    const { leave, first, second, idsOf } = await setUp();
    await leave(first);
    expect(idsOf(second)).toEqual(['0', '1', '2', '3']);
  });

  it('isn’t waited for if the next one doesn’t prepare, or its owner refuses it', async () => {
    const { join, joinAndWait, report, idsOf } = await startGroup({ shards: 4 });
    const first = await joinAndWait('a', PREPARING);
    const second = await joinAndWait('b');
    expect(idsOf(second)).toEqual(['2', '3']);
    await join('c', PREPARING);
    await report(first, { refused: ['0', '1'] });
    expect(idsOf(first)).toEqual([]);
  });

  it('is waited for anew by the next planner, unless its owner was told already to give it back', async () => {
    const { clock, join, report, idsOf } = await startGroup({ shards: 4 });
    const planner = await join('planner', { ...PREPARING, weight: 1e-9 });
    const work = deferred();
    const run = ({ id }: { id: string }) => (id === '3' ? work.promise : undefined);
    const first = await join('a', { ...PREPARING, run });
    await clock.advance(TIMEOUT_MS + A_WHILE_MS);
    expect(idsOf(first)).toHaveLength(4);
    const second = await join('b', PREPARING);
    await report(second, { ready: ['3'] });
    expect([idsOf(first), first.plannedFor]).toEqual([
      ['0', '1', '2'],
      ['0', '1', '2'],
    ]);
    second.member.report({ ready: [] });
    await clock.advance(TIMEOUT_MS / 2);
    await clock.advanceUntil(planner.member.leave());
    await clock.advance(TIMEOUT_MS - A_WHILE_MS);
    // Not 3, whose work hasn't settled; 2 waits for 30 s of the next planner.
    expect(first.plannedFor).toEqual(['0', '1', '2']);
    await clock.advance(2 * A_WHILE_MS);
    expect(first.plannedFor).toEqual(['0', '1']);
    work.resolve();
    await clock.advance(A_WHILE_MS);
    expect(idsOf(second)).toEqual(['2', '3']);
  });
});

describe('the time that handovers wait', () => {
  const handover = (shard: string, to = 'n2'): Handover => ({ shard, from: 'n1', to });

  it('counts from when each was seen first, until another one is to have the shard', () => {
    const waits = new HandoverWaits();
    expect(waits.update([handover('1')], 0)).toEqual({ waiting: [handover('1')], nextMs: TIMEOUT_MS });
    expect(waits.update([handover('1'), handover('2')], 600)).toEqual({
      waiting: [handover('1'), handover('2')],
      nextMs: TIMEOUT_MS - 600,
    });
    expect(waits.update([handover('1'), handover('2')], TIMEOUT_MS)).toEqual({
      waiting: [handover('2')],
      nextMs: 600,
    });
    expect(waits.update([handover('1'), handover('2', 'n3')], TIMEOUT_MS + 500)).toEqual({
      waiting: [handover('2', 'n3')],
      nextMs: TIMEOUT_MS,
    });
    expect(waits.update([], TIMEOUT_MS + 600)).toEqual({ waiting: [], nextMs: Number.POSITIVE_INFINITY });
  });

  it('is never longer than the time-out for a shard that goes to one member, however often it is looked at', () => {
    const looks = fc.array(fc.nat(TIMEOUT_MS / 2), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(looks, (pauses) => {
        const waits = new HandoverWaits();
        let now = 0;
        for (const pause of pauses) {
          const isWaiting = waits.update([handover('1')], now).waiting.length === 1;
          expect(isWaiting).toBe(now < TIMEOUT_MS);
          now += pause;
        }
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  firingsBetween,
  isDueNow,
  isFar,
  MOST_WAITING,
  type WaitingFiring,
  withFiring,
} from '../../../src/jobs/waiting-firings.js';

const KINDS = ['live', 'remembered', 'missed', 'cut off'] as const;
const firings = fc.array(
  fc.record({ at: fc.integer({ min: 0, max: 20 }), kind: fc.constantFrom(...KINDS) }),
  { maxLength: 30 },
);

/** The firings that wait after all of these have come, and those that were left out on the way. */
function waitingAfter(come: readonly WaitingFiring[], missed: 'once' | 'all') {
  let waiting: readonly WaitingFiring[] = [];
  const left: WaitingFiring[] = [];
  for (const firing of come) {
    const next = withFiring(waiting, firing, missed);
    waiting = next.kept;
    left.push(...next.left);
  }
  return { waiting, left };
}

const times = (list: readonly WaitingFiring[]) => list.map(({ at }) => at);
const late = (list: readonly WaitingFiring[]) => list.filter(({ kind }) => kind !== 'cut off');

describe('the firings that wait', () => {
  it('are in their order, each time once, and each firing either waits or is left out', () => {
    const property = (come: WaitingFiring[], missed: 'once' | 'all') => {
      const { waiting, left } = waitingAfter(come, missed);
      expect(times(waiting)).toEqual([...new Set(times(waiting))].toSorted((one, other) => one - other));
      const byIdentity = new Map(come.map((firing, nth) => [firing, nth]));
      const all = [...waiting, ...left].map((firing) => byIdentity.get(firing));
      expect(all.toSorted((one, other) => Number(one) - Number(other))).toEqual([...come.keys()]);
    };
    fc.assert(fc.property(firings, fc.constantFrom('once', 'all'), property));
  });

  it('are all times with `all`, and a run that was cut off stays one', () => {
    const property = (come: WaitingFiring[]) => {
      const { waiting } = waitingAfter(come, 'all');
      expect(new Set(times(waiting))).toEqual(new Set(times(come)));
      const cutOff = (list: readonly WaitingFiring[]) =>
        new Set(times(list.filter(({ kind }) => kind === 'cut off')));
      expect(cutOff(waiting)).toEqual(cutOff(come));
    };
    fc.assert(fc.property(firings, property));
  });

  it('are the latest of the late ones with `once`, and all runs that were cut off', () => {
    const property = (come: WaitingFiring[]) => {
      const { waiting } = waitingAfter(come, 'once');
      const cutOff = new Set(times(come.filter(({ kind }) => kind === 'cut off')));
      expect(new Set(times(waiting.filter(({ kind }) => kind === 'cut off')))).toEqual(cutOff);
      expect(late(waiting).length).toBeLessThanOrEqual(1);
      // A time that was cut off later is no longer a late one.
      const others = times(come).filter((at) => !cutOff.has(at));
      if (others.length > 0 && cutOff.size === 0) expect(times(late(waiting))).toEqual([Math.max(...others)]);
    };
    fc.assert(fc.property(firings, property));
  });

  it('are the latest thousand with `all`', () => {
    const come = Array.from({ length: MOST_WAITING + 5 }, (_, at) => ({ at, kind: 'remembered' }) as const);
    const { waiting, left } = waitingAfter(come.toReversed(), 'all');
    expect(times(waiting)).toEqual(times(come.slice(5)));
    expect(left).toHaveLength(5);
  });

  it('keep the one of a call when the same firing was remembered or missed', () => {
    const remembered: WaitingFiring = { at: 1, kind: 'remembered' };
    const live: WaitingFiring = { at: 1, kind: 'live' };
    expect(withFiring([remembered], live, 'once')).toEqual({ kept: [live], left: [remembered] });
    expect(withFiring([live], remembered, 'once')).toEqual({ kept: [live], left: [remembered] });
    expect(withFiring([live], { ...live }, 'once').kept[0]).toBe(live);
  });
});

describe('a firing that waits', () => {
  const limits = { lateMs: 1000, atLeastMs: 0 };

  it.each([
    ['remembered', 1000, false],
    ['remembered', 1001, true],
    ['missed', 1000, false],
    ['missed', 1001, true],
    ['live', 3000, false],
    ['live', 3001, true],
    ['cut off', 1e9, false],
  ] as const)('of the kind %s, %i ms after its time: too late is %s', (kind, now, tooLate) => {
    const last = { at: 0, id: 'n', token: '7', open: true } as const;
    const due = isDueNow({ at: 0, kind }, kind === 'cut off' ? last : undefined, now, limits);
    expect(due).toBe(tooLate ? 'too late' : 'due');
  });

  it('is done, and not too late, if the record has it or a later one', () => {
    for (const at of [5, 6])
      expect(isDueNow({ at: 5, kind: 'missed' }, { at, id: 'n', token: '7' }, 1e6, limits)).toBe('done');
  });

  it('and was cut off is due only while the record has it as the last run, without an end', () => {
    const firing = { at: 5, kind: 'cut off' } as const;
    const last = { at: 5, id: 'n', token: '7' };
    expect(isDueNow(firing, { ...last, open: true }, 1e9, limits)).toBe('due');
    expect(isDueNow(firing, { ...last, at: 6, open: true }, 6, limits)).toBe('done');
    expect(isDueNow(firing, last, 5, limits)).toBe('done');
    expect(isDueNow(firing, undefined, 5, limits)).toBe('done');
  });
});

describe('the firings of a schedule', () => {
  const each = (period: number) => (after: Date) =>
    new Date(Math.floor(after.getTime() / period + 1) * period);

  it('are those later than the first time, up to and including the last', () => {
    const property = (period: number, after: number, ms: number) => {
      const upTo = after + ms;
      const expected = Array.from({ length: upTo + 1 }, (_, at) => at).filter(
        (at) => at > after && at % period === 0,
      );
      expect([...firingsBetween(each(period), after, upTo)]).toEqual(expected);
    };
    const small = fc.integer({ min: 0, max: 200 });
    fc.assert(fc.property(fc.integer({ min: 1, max: 50 }), small, small, property));
  });

  it.each([null, undefined])('end with the schedule, which then gives %s', (end) => {
    const next = (after: Date) => (after.getTime() < 2 ? new Date(after.getTime() + 1) : end);
    expect([...firingsBetween(next, 0, 10)]).toEqual([1, 2]);
  });

  it.each([5, 4, Number.NaN])('refuse a next time that is not later: %d after 5', (at) => {
    const next = () => new Date(at);
    expect(() => [...firingsBetween(next, 5, 10)]).toThrow(
      new TypeError(`next(5) gave ${at}, which isn't later`),
    );
  });

  it('ask for no more than is taken', () => {
    const asked: number[] = [];
    const next = (after: Date) => {
      asked.push(after.getTime());
      return each(1)(after);
    };
    const found = firingsBetween(next, 0, 1e9);
    expect([found.next().value, found.next().value]).toEqual([1, 2]);
    expect(asked).toEqual([0, 1]);
  });
});

const NOON = 43_200_000;

describe('the time that a scheduler tells', () => {
  it.each([
    [61_000, 0, true],
    [60_000, 0, false],
    [-61_000, 10_000, true],
    [-3_600_000, 3_600_000, false],
  ])('is far if it is %i ms from now, with a lateMs of %i: %j', (ms, lateMs, far) => {
    expect(isFar(NOON + ms, NOON, lateMs)).toBe(far);
  });
});

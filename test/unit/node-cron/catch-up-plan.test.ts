import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CatchUpPlan, type CatchUpPolicy, planCatchUp } from '../../../src/node-cron/catch-up-plan.js';
import type { Schedule } from '../../../src/node-cron/schedule.js';

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 10, 21, 12);

/** A schedule that fires every `minutes` minutes since 1970. */
function every(minutes: number): Schedule {
  const period = minutes * MINUTE;
  return {
    match: (date) => date.getTime() % period === 0,
    getNextRuns: (count) => Array.from({ length: count }, (_, index) => new Date(NOW + (index + 1) * period)),
  };
}

function plan(
  last: number,
  upTo: number,
  policy: Partial<CatchUpPolicy> = {},
  { minutes = 10, now = NOW } = {},
): CatchUpPlan {
  const given: CatchUpPolicy = { missed: 'all', windowMs: 24 * 60 * MINUTE, maxRuns: 1000, ...policy };
  const steps = planCatchUp(every(minutes), { at: last, id: 'n' }, upTo, now, given, () => 0);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

const ago = (minutes: number) => NOW - minutes * MINUTE;

describe('what is to be caught up', () => {
  it('is each firing since the last run, in their order, up to where node-cron has come', () => {
    expect(plan(ago(40), NOW)).toEqual({ toRun: [ago(30), ago(20), ago(10), NOW] });
    expect(plan(ago(40), NOW - 1)).toEqual({ toRun: [ago(30), ago(20), ago(10)] });
  });

  it('is the latest alone, if once is enough, and the others are not reported as dropped', () => {
    expect(plan(ago(40), NOW, { missed: 'once' })).toEqual({ toRun: [NOW] });
  });

  it.each([
    ['none was missed', ago(10), ago(1)],
    ['the last run was the last firing', NOW, NOW],
    ['the clock has gone back since the last run', NOW + 60 * MINUTE, NOW],
    ['the last run was written by a host with a wrong clock', NOW * 2, NOW],
  ])('is nothing when %s', (_, last, upTo) => {
    expect(plan(last, upTo)).toEqual({ toRun: [] });
  });

  it('leaves out what is outside of the window, and says so', () => {
    expect(plan(ago(40), NOW, { windowMs: 15 * MINUTE })).toEqual({
      toRun: [ago(10), NOW],
      dropped: { after: ago(40), upTo: ago(20) },
    });
    expect(plan(ago(40), ago(20), { missed: 'once', windowMs: 15 * MINUTE })).toEqual({
      toRun: [],
      dropped: { after: ago(40), upTo: ago(20) },
    });
  });

  it('leaves out the oldest when they are too many, and says so', () => {
    expect(plan(ago(40), NOW, { maxRuns: 2 })).toEqual({
      toRun: [ago(10), NOW],
      dropped: { after: ago(40), upTo: ago(20) },
    });
  });

  it('says of what was missed years ago that it is dropped', () => {
    const last = ago(5 * 366 * 24 * 60);
    expect(plan(last, NOW, { windowMs: 15 * MINUTE }).dropped).toEqual({ after: last, upTo: ago(20) });
  });

  it('is, with what is dropped, each firing after the last run, once', () => {
    const minutes = fc.integer({ min: 0, max: 3000 });
    fc.assert(
      fc.property(
        minutes,
        minutes,
        fc.constantFrom(1, 2, 5, 10, 12, 15, 30, 60),
        fc.integer({ min: 1, max: 2000 }),
        fc.integer({ min: 1, max: 50 }),
        (sinceLast, sinceUpTo, period, window, maxRuns) => {
          const [last, upTo] = [ago(sinceLast), ago(sinceUpTo)];
          const policy = { windowMs: window * MINUTE, maxRuns };
          const { toRun, dropped } = plan(last, upTo, policy, { minutes: period });
          const expected: number[] = [];
          for (let at = Math.ceil((last + 1) / (period * MINUTE)) * period * MINUTE; at <= upTo; )
            at = expected.push(at) && at + period * MINUTE;
          const cut = expected.filter((at) => at <= (dropped?.upTo ?? -1));
          expect([...cut, ...toRun]).toEqual(expected);
          expect(toRun.length).toBeLessThanOrEqual(maxRuns);
          expect(toRun.filter((at) => at < NOW - window * MINUTE)).toEqual([]);
          // The plan drops no firing that could have been run.
          const next = dropped !== undefined && toRun.length < maxRuns ? dropped.upTo : -1;
          expect(next).toBeLessThan(NOW - window * MINUTE);
        },
      ),
    );
  });
});

import fc from 'fast-check';
import { createTask, type ScheduledTask } from 'node-cron';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { firesAt, offsetsOf, pastFirings } from '../../../src/node-cron/schedule.js';

const HOUR = 3600_000;
const DAY = 24 * HOUR;
const NOON = 12 * HOUR;
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Europe/London',
  'America/New_York',
  'Atlantic/Azores',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
];
const EXPRESSIONS = [
  '* * * * *',
  '*/7 * * * *',
  '30 2 * * *',
  '0,59 0-4 * * *',
  '15 */3 * * 1-5',
  '20,40 30 1 * * 0',
  '45 23 * * 5#2',
];

afterEach(() => void vi.useRealTimers());

function taskOf(expression: string, timezone: string): ScheduledTask {
  const task = createTask(expression, () => undefined, { timezone });
  void task.destroy();
  return task;
}

/** The firings after an instant, as node-cron itself computes them. */
function firingsAfter(task: ScheduledTask, after: number, count: number): number[] {
  vi.useFakeTimers({ toFake: ['Date'], now: after });
  return task.getNextRuns(count).map((date) => date.getTime());
}

function past(task: ScheduledTask, timezone: string, after: number, upTo: number): number[] {
  const found = pastFirings(task, { after, upTo }, offsetsOf(timezone));
  return [...found].filter((at) => at !== undefined).reverse();
}

describe('past firings', () => {
  // At noon, because node-cron passes over firings in a repeated hour if the question comes from within that hour.
  const start = fc.integer({ min: Date.UTC(2024, 0) / DAY, max: Date.UTC(2027, 0) / DAY });

  it('are those that node-cron would have announced, in any time zone', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...EXPRESSIONS),
        fc.constantFrom(...ZONES),
        start,
        (expression, zone, day) => {
          const task = taskOf(expression, zone);
          const after = day * DAY + NOON;
          const announced = firingsAfter(task, after, 6);
          expect(past(task, zone, after, announced.at(-1) as number)).toEqual(announced);
        },
      ),
      { numRuns: 30 },
    );
  });

  it.each([
    ['Europe/Berlin', 2, 28],
    ['Europe/Berlin', 9, 24],
    ['Europe/London', 9, 24],
    ['America/New_York', 2, 7],
    ['America/New_York', 9, 31],
    ['Atlantic/Azores', 9, 24],
    ['Australia/Lord_Howe', 3, 4],
    ['Australia/Lord_Howe', 9, 3],
  ])('are those at the change of the clock in %s, month %i', (zone, month, day) => {
    for (const expression of ['*/15 0-4 * * *', '30 2 * * *', '30 1 * * *', '15 1,2,3 * * *']) {
      const task = taskOf(expression, zone);
      const after = Date.UTC(2026, month, day) - NOON;
      const announced = firingsAfter(task, after, expression.startsWith('*/') ? 45 : 4);
      expect(past(task, zone, after, announced.at(-1) as number)).toEqual(announced);
    }
  });

  it('come in the order from the last, and pause now and then', () => {
    const task = taskOf('0 3 * * *', 'UTC');
    const upTo = Date.UTC(2026, 10, 21, 3);
    const found = [...pastFirings(task, { after: upTo - 72 * HOUR, upTo }, offsetsOf('UTC'))];
    expect(found.filter((at) => at !== undefined)).toEqual([upTo, upTo - 24 * HOUR, upTo - 48 * HOUR]);
    expect(found.filter((at) => at === undefined)).toHaveLength(2);
  });
});

describe('the hour that the end of summer time repeats', () => {
  const first = Date.UTC(2026, 9, 25, 0, 30);
  const second = first + HOUR;
  it.each([
    ['Europe/Berlin', [false, true]],
    ['UTC', [true, true]],
  ])('counts once in %s', (zone, fires) => {
    const offsetAt = offsetsOf(zone);
    expect([first, second].map((at) => firesAt(at, offsetAt))).toEqual(fires);
  });

  it('is that of a time zone that exists', () => {
    expect(() => offsetsOf('Middle/Earth')).toThrow(expect.objectContaining({ option: 'timezone' }));
  });
});

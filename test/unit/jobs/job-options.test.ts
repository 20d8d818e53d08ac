import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../src/errors.js';
import { resolveJobOptions, timeIn } from '../../../src/jobs/job-options.js';

const DATE = new Date(7);

describe("the time in a scheduler's arguments", () => {
  it.each([
    ['a date, as of node-schedule', [DATE], DATE],
    ['an object with a date, as of node-cron', [{ date: DATE }], DATE],
    ['no argument', [], undefined],
    ['another object', [{ time: DATE }], undefined],
    ['an object whose date is a text', [{ date: '2026-01-01' }], undefined],
    ['null', [null], undefined],
    ['a number', [7], undefined],
    ['a date that is not the first argument', ['job', DATE], undefined],
  ])('%s', (_, args, time) => {
    expect(timeIn(args)).toBe(time);
  });
});

describe("a job's options", () => {
  it('have defaults', () => {
    expect(resolveJobOptions(undefined)).toEqual({
      atLeastMs: 0,
      missed: 'once',
      recover: false,
      maxRunMs: Number.POSITIVE_INFINITY,
    });
  });

  it.each([
    ['lateMs', 366 * 24 * 3600_000 + 1, /lateMs is .*at most 366 days/],
    ['lateMs', -1, /lateMs is .*0 or more/],
    ['atLeastMs', Number.NaN, /atLeastMs is .*0 or more/],
    ['missed', 'none', /missed is .*'once', 'all'/],
    ['recover', 'yes', /recover is .*true or false/],
    ['next', '* * * * *', /next is .*a function/],
    ['scheduledFor', DATE, /scheduledFor is .*a function/],
    ['maxRunMs', 0, /maxRunMs is .*over 0/],
    ['late', 1, /job\.late.*did you mean job\.lateMs/],
  ])('refuse %s: %s, and say what would be right', (name, value, message) => {
    const resolve = () => resolveJobOptions({ [name]: value });
    expect(resolve).toThrow(InvalidOptionError);
    expect(resolve).toThrow(message);
  });
});

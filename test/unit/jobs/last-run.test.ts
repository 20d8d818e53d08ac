import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../src/errors.js';
import {
  isCutOff,
  isDue,
  jobNodeNameOf,
  parseLastRun,
  serializeLastRun,
} from '../../../src/jobs/last-run.js';

const AT = Date.UTC(2026, 10, 21, 3);

describe('whether a firing is due', () => {
  it.each([
    ['after none', undefined, 'due'],
    ['after the one before', -1000, 'due'],
    ['when it has been run', 0, 'done'],
    ['when a later one has been run, on a host whose clock is ahead', 60_000, 'done'],
    ['when the last one is written far in the future', 60_001, 'due, against a wrong clock'],
  ])('%s', (_, ahead, due) => {
    const last = ahead === undefined ? undefined : { at: AT + ahead, id: 'n', token: '7' };
    expect(isDue(AT, last, AT, 0)).toBe(due);
  });

  it('does not depend on how old it is, only on how far ahead of now the last run is', () => {
    const last = { at: AT, id: 'n', token: '7' };
    expect(isDue(AT - 3600_000, last, AT, 0)).toBe('done');
  });

  it.each([
    [999, 'done'],
    [1000, 'due'],
  ])('%i ms after the last run, if nearer than a second counts as the same', (later, due) => {
    expect(isDue(AT + later, { at: AT, id: 'n', token: '7' }, AT, 1000)).toBe(due);
  });
});

describe("a task's last run", () => {
  it('is read as it was written', () => {
    const open = { at: AT, id: 'n', token: '7', open: true } as const;
    for (const last of [{ at: AT, id: 'n', token: '7' }, open])
      expect(parseLastRun(serializeLastRun(last))).toEqual(last);
  });

  it('was cut off if it is open in an earlier term', () => {
    const last = { at: AT, id: 'n', token: '7' };
    expect(isCutOff(undefined, 8n)).toBe(false);
    expect(isCutOff(last, 8n)).toBe(false);
    expect(isCutOff({ ...last, open: true }, 8n)).toBe(true);
    expect(isCutOff({ ...last, open: true }, 7n)).toBe(false);
  });

  it.each(['', 'null', '7', '{}', '{"at":"3"}', '{"at":3,"note":7}', '{"at":3,"note":"n"}'])(
    'is none if its data are %j',
    (text) => {
      expect(parseLastRun(Buffer.from(text))).toBeUndefined();
    },
  );

  it.each([
    ['backup', 'backup'],
    ['a/b', 'a%2Fb'],
    ['..', '%2E%2E'],
    ['nächtlich', 'n%C3%A4chtlich'],
  ])('is on its own node, whatever the name of the job: %s', (task, node) => {
    expect(jobNodeNameOf(task)).toBe(node);
  });

  it('has no node if the name of the job has half a surrogate pair, and the error says so', () => {
    expect(() => jobNodeNameOf('a\ud83d')).toThrow(InvalidOptionError);
    expect(() => jobNodeNameOf('a\ud83d')).toThrow(/job is .*surrogate pair/s);
  });
});

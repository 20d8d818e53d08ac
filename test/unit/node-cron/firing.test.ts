import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../src/errors.js';
import {
  isDue,
  keyOf,
  nodeNameOf,
  parseKey,
  parseLastRun,
  serializeLastRun,
} from '../../../src/node-cron/firing.js';

const AT = Date.UTC(2026, 10, 21, 3);

describe("a firing's key", () => {
  it.each(['backup', 'a:b', 'with space', 'two\nlines', '7:2020-01-01T00:00:00.000Z'])(
    'is taken apart as node-cron made it, for a task named %j',
    (task) => {
      expect(parseKey(keyOf({ task, at: AT }))).toEqual({ task, at: AT });
    },
  );

  it.each(['', 'backup', ':2026-11-21T03:00:00.000Z', 'backup:tomorrow', 'backup:2026-13-41T03:00:00.000Z'])(
    'is refused if it is %j',
    (key) => {
      expect(() => parseKey(key)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', value: key }));
    },
  );
});

describe('whether a firing is due', () => {
  it.each([
    ['after none', undefined, 'due'],
    ['after the one before', -1000, 'due'],
    ['when it has been run', 0, 'done'],
    ['when a later one has been run, on a host whose clock is ahead', 60_000, 'done'],
    ['when the last one is written far in the future', 60_001, 'due, against a wrong clock'],
  ])('%s', (_, ahead, due) => {
    const last = ahead === undefined ? undefined : { at: AT + ahead, id: 'n' };
    expect(isDue({ task: 'backup', at: AT }, last)).toBe(due);
  });
});

describe("a task's last run", () => {
  it('is read as it was written', () => {
    for (const last of [
      { at: AT, id: 'n' },
      { at: AT, id: 'n', expression: '0 3 * * *' },
    ])
      expect(parseLastRun(serializeLastRun(last, 7n))).toEqual(last);
  });

  it.each(['', 'null', '7', '{}', '{"at":"3"}', '{"at":3,"note":7}'])(
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
  ])('is on its own node, whatever the name of the task: %s', (task, node) => {
    expect(nodeNameOf(task)).toBe(node);
  });

  it('has no node if the name of the task has half a surrogate pair, and the error says so', () => {
    expect(() => nodeNameOf('a\ud83d')).toThrow(InvalidOptionError);
    expect(() => nodeNameOf('a\ud83d')).toThrow(/task is .*surrogate pair/s);
  });
});

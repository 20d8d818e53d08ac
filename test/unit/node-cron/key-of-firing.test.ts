import { describe, expect, it } from 'vitest';
import { keyOf, parseKey } from '../../../src/node-cron/key-of-firing.js';

const AT = Date.UTC(2026, 10, 21, 3);

describe("a firing's key", () => {
  it.each(['backup', 'a:b', 'with space', 'two\nlines', '7:2020-01-01T00:00:00.000Z'])(
    'is taken apart as node-cron made it, for a task named %j',
    (task) => {
      expect(parseKey(keyOf({ job: task, at: AT }))).toEqual({ job: task, at: AT });
    },
  );

  it.each(['', 'backup', ':2026-11-21T03:00:00.000Z', 'backup:tomorrow', 'backup:2026-13-41T03:00:00.000Z'])(
    'is refused if it is %j',
    (key) => {
      expect(() => parseKey(key)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', value: key }));
    },
  );
});

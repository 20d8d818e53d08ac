import { expect, it } from 'vitest';
import {
  ageText,
  countText,
  durationText,
  nameOf,
  timeText,
} from '../../../../../src/dashboard/page/model/format.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

it.each([
  [-5, '0 ms'],
  [320.4, '320 ms'],
  [5_250, '5.2 s'],
  [9_999, '9.9 s'],
  [59_999, '59 s'],
  [MINUTE, '1 min'],
  [12 * MINUTE + 5_000, '12 min 5 s'],
  [3 * DAY + 4 * 60 * MINUTE, '3 d 4 h'],
  [4_000 * DAY, '4,000 d'],
])('%d ms are %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

it('an age under a minute is in whole seconds', () => {
  expect([-1, 0, 999, 9_900].map(ageText)).toEqual(['0 s', '0 s', '0 s', '9 s']);
  expect(ageText(MINUTE + 1_000)).toBe('1 min 1 s');
});

it("a time has its date if that isn't today's, and not half a day ago at most", () => {
  const at = new Date(2026, 0, 2, 3, 4, 5).getTime();
  expect(timeText(at, at + 1_000)).toBe('03:04:05');
  expect(timeText(at - DAY / 6, at)).toBe('23:04:05');
  expect(timeText(at, at + DAY)).toBe('2026-01-02 03:04:05');
});

it('a count has its noun', () => {
  expect([countText(1, 'term'), countText(4_096, 'term'), countText(0, 'waits', 'wait')]).toEqual([
    '1 term',
    '4,096 terms',
    '0 wait',
  ]);
});

it('a name is a path without the root, and all of it elsewhere', () => {
  expect(nameOf('/elections/a/b', '/elections')).toBe('a/b');
  expect(nameOf('/a', '/')).toBe('a');
  expect(nameOf('/electionsX/a', '/elections')).toBe('/electionsX/a');
  expect(nameOf('/elections', '/elections')).toBe('/elections');
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  ageText,
  countText,
  durationText,
  nameOf,
  shortened,
  timeText,
  visibleText,
} from '../../../../../src/dashboard/page/model/display-text.js';

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

it('what a reader could not see is shown', () => {
  expect(visibleText('a\nb\0\u007f')).toBe('a␊b␀␡');
  expect(visibleText('safe\u202egpj.exe')).toBe('safe[U+202E]gpj.exe');
  expect(visibleText('ad\u200bmin\ufeff')).toBe('ad[U+200B]min[U+FEFF]');
  expect(visibleText('\u0085\ud800x')).toBe('[U+0085][U+D800]x');
  expect(visibleText('\u{e0041}')).toBe('[U+E0041]');
});

it('names in all scripts, and emoji, stay as they are', () => {
  for (const name of ['عامل-1', 'מנהיג', 'ワーカー', 'می‌خواهم', '👩‍💻', 'worker-1 <b>&amp;'])
    expect(visibleText(name)).toBe(name);
});

/** Texts of UTF-16 units, so that some have half of a surrogate pair. */
const anyText = fc
  .array(fc.oneof(fc.nat(0x2100), fc.nat(0xffff)), { maxLength: 30 })
  .map((units) => String.fromCharCode(...units));

it('nothing invisible is left, whatever the text', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const shown = visibleText(text);
      expect(shown).not.toMatch(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f]/u);
      expect(visibleText(shown)).toBe(shown);
    }),
  );
});

it('a text that is too long is cut, but never within a character', () => {
  expect(shortened('abc', 3)).toBe('abc');
  expect(shortened('abcd', 3)).toBe('abc…');
  expect(shortened('ab👩d', 3)).toBe('ab…');
});

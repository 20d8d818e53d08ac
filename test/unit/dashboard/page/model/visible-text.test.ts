import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shortened, visibleText } from '../../../../../src/dashboard/page/model/visible-text.js';

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

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { printable } from '../../../../src/cli/process/output.js';
import { cutToWidth, textWidth } from '../../../../src/cli/table/text-width.js';

describe('the width of a text in a terminal', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['日本', 4],
    ['e\u0301', 1],
    ['👩‍👩‍👧', 2],
  ])('of %j is %i', (text, width) => {
    expect(textWidth(text)).toBe(width);
  });
});

describe('a text that is cut', () => {
  it.each([
    ['abcdef', 6, 'abcdef'],
    ['abcdef', 5, 'abcd…'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
  ])('of %j to %i columns is %j', (text, width, cut) => {
    expect(cutToWidth(text, width)).toBe(cut);
  });

  it('may keep its end', () => {
    expect(cutToWidth('/elections/日本', 6, 'end')).toBe('…/日本');
    expect(cutToWidth('abc', 3, 'end')).toBe('abc');
  });

  it('is never wider than it may be, and is left as it is where there is room', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), fc.boolean(), (text, width, fromEnd) => {
        const shown = printable(text);
        const cut = cutToWidth(shown, width, fromEnd ? 'end' : 'beginning');
        expect(textWidth(cut)).toBeLessThanOrEqual(width);
        if (textWidth(shown) <= width) expect(cut).toBe(shown);
      }),
    );
  });
});

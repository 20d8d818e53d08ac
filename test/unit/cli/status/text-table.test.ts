import fc from 'fast-check';
import textWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { type Column, cutToWidth, textTable } from '../../../../src/cli/status/text-table.js';
import { printable } from '../../../../src/platform/printable.js';

const COLUMNS: readonly Column[] = [
  { header: 'NAME', leastWidth: 6, leftOutAt: 0 },
  { header: 'TERM', align: 'right', leftOutAt: 2 },
  { header: 'OF', leastWidth: 4, leftOutAt: 1 },
];

describe('a table', () => {
  it('has its columns aligned, and no space at the end of a line', () => {
    const rows = [
      ['/elections/a', '7', 'one'],
      ['/b', '123', ''],
    ];
    expect(textTable(COLUMNS, rows, 80)).toEqual([
      'NAME          TERM  OF',
      '/elections/a     7  one',
      '/b             123',
    ]);
  });

  it('cuts the widest column first, then leaves out columns, and in the end cuts the last one', () => {
    const rows = [['abcdefghijkl', '1', 'xyz']];
    const at = (width: number) => textTable(COLUMNS, rows, width)[1];
    expect(at(23)).toBe('abcdefghijkl     1  xyz');
    expect(at(22)).toBe('abcdefghij…     1  xyz');
    expect(at(17)).toBe('abcde…     1  xyz');
    expect(at(16)).toBe('abcdefghij…  xyz');
    expect(at(10)).toBe('abcdefghi…');
    expect(at(3)).toBe('ab…');
    expect(at(0)).toBe('');
  });

  const text = fc.string({ unit: 'binary', maxLength: 40 }).map(printable);
  const column = fc.record({
    header: fc.constantFrom('', 'NAME', 'A LONG HEADER'),
    align: fc.constantFrom('left' as const, 'right' as const),
    leastWidth: fc.option(fc.nat(12), { nil: undefined }),
    leftOutAt: fc.nat(5),
  });
  const tables = fc
    .array(column, { minLength: 1, maxLength: 6 })
    .chain((columns) =>
      fc.tuple(
        fc.constant(columns),
        fc.array(fc.array(text, { minLength: columns.length, maxLength: columns.length }), { maxLength: 6 }),
      ),
    );

  it('is never wider than it may be, whatever is in it', () => {
    fc.assert(
      fc.property(tables, fc.nat(120), ([columns, rows], width) => {
        const lines = textTable(columns as readonly Column[], rows, width);
        expect(lines).toHaveLength(rows.length + 1);
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });

  it('has everything in it where there is room, at the same place in each row', () => {
    fc.assert(
      fc.property(tables, ([columns, rows]) => {
        const [, ...lines] = textTable(columns as readonly Column[], rows, Number.POSITIVE_INFINITY);
        const widths = columns.map(({ header }, index) =>
          Math.max(textWidth(header), ...rows.map((cells) => textWidth(cells[index] as string))),
        );
        for (const [number, line] of lines.entries()) {
          const cells = (rows[number] as string[]).map((cell, index) => {
            const padding = ' '.repeat((widths[index] as number) - textWidth(cell));
            return columns[index]?.align === 'right' ? padding + cell : cell + padding;
          });
          expect(line).toBe(cells.join('  ').trimEnd());
        }
      }),
    );
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

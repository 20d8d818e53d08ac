import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeptHistory } from '../../../../src/dashboard/history/kept-history.js';

const at = fc.nat();
const name = fc.option(fc.string());
const path = fc.string().map((text) => `/${text}`);
const term = fc.tuple(at, at, at, name, fc.boolean()).map(([number, from, length, id, isOver]) => ({
  ...{ term: number, id, from },
  ...(isOver ? { to: from + length, end: 'released' as const } : { to: null, end: null }),
}));
const row = fc.oneof(
  at.map((since) => ({ kind: 'since', at: since })),
  fc.tuple(path, term).map(([each, value]) => ({ kind: 'term', path: each, term: value })),
  fc.tuple(path, at, fc.string(), name).map(([each, when, shard, to]) => ({
    kind: 'move',
    path: each,
    move: { at: when, shard, from: null, to },
  })),
  fc.tuple(path, at, name).map(([each, when, id]) => ({
    kind: 'transition',
    transition: { at: when, path: each, kind: 'joined', id },
  })),
);
const readRows = (text: string) => {
  const { past, since } = KeptHistory.of(text);
  return { past, since };
};
const textOf = (rows: readonly unknown[]) => rows.map((each) => `${JSON.stringify(each)}\n`).join('');

describe('the lines of a history', () => {
  it('are read as they were written, also when they were written anew', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 300 }), (rows) => {
        const read = readRows(textOf(rows));
        expect(readRows(textOf(KeptHistory.of(textOf(rows)).rows()))).toEqual(read);
        for (const [, terms] of read.past.terms) expect(terms.length).toBeLessThanOrEqual(100);
        expect(read.past.transitions.length).toBeLessThanOrEqual(200);
      }),
    );
  });

  it('are left out where they are torn, or were written by another program', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 20 }), fc.nat(), fc.string(), (rows, cut, noise) => {
        const text = textOf(rows);
        const whole = readRows(text);
        const torn = text.slice(0, text.length - (cut % (text.length + 1)));
        expect(() => readRows(torn)).not.toThrow();
        expect(() => readRows(noise)).not.toThrow();
        expect(
          readRows(
            `${text}{"kind":"term","path":"/a","term":{"term":1\n${JSON.stringify({ kind: 'term', path: '/a', term: {} })}\n`,
          ),
        ).toEqual(whole);
      }),
    );
  });

  it('say of a term what the last of them says, and give the newest first', () => {
    const begun = { term: 1, id: 'one', from: 5, to: null, end: null };
    const over = { ...begun, to: 9, end: 'released' };
    const joined = (id: string) => ({
      kind: 'transition',
      transition: { at: 1, path: '/a', kind: 'joined', id },
    });
    const move = (shard: string) => ({
      kind: 'move',
      path: '/g',
      move: { at: 1, shard, from: 'a', to: 'b' },
    });
    const rows = [
      { kind: 'since', at: 3 },
      { kind: 'term', path: '/a', term: begun },
      joined('x'),
      joined('y'),
      move('1'),
      move('2'),
    ];
    const { past, since } = readRows(
      textOf([...rows, { kind: 'term', path: '/a', term: over }, { kind: 'since', at: 7 }]),
    );
    expect(since).toBe(3);
    expect(past.terms.get('/a')).toEqual([over]);
    expect(past.transitions.map(({ id }) => id)).toEqual(['y', 'x']);
    expect(past.moves.get('/g')?.map(({ shard }) => shard)).toEqual(['2', '1']);
  });
});

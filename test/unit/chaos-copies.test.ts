import { describe, expect, it } from 'vitest';
import { type Copy, disagreementsIn } from '../chaos/nemesis/copies.js';

const copies = (...all: string[][]): Copy[] => all.map((lines) => new Set(lines));

describe('the comparison of what servers have', () => {
  it('finds nothing where all have the same', () => {
    expect(disagreementsIn([copies(['a'], ['a'], ['a']), copies(['a'], ['a'], ['a'])])).toEqual([]);
    expect(disagreementsIn([])).toEqual([]);
  });

  it('finds what one alone has, and what one alone has not', () => {
    const ghost = copies(['a'], ['a', 'ghost'], ['a']);
    expect(disagreementsIn([ghost, ghost])).toEqual([{ what: 'ghost', odd: 1 }]);
    const gap = copies(['a'], ['a'], []);
    expect(disagreementsIn([gap, gap])).toEqual([{ what: 'a', odd: 2 }]);
  });

  it('takes a change between two looks for no disagreement', () => {
    const before = copies(['old'], ['old'], []);
    const after = copies([], ['new'], ['new']);
    expect(disagreementsIn([before, after])).toEqual([]);
    const later = copies(['new'], ['new'], ['new']);
    expect(disagreementsIn([before, after, later])).toEqual([]);
  });
});

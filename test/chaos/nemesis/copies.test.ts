import { describe, expect, it } from 'vitest';
import { type Copy, disagreementsIn, disputedIn } from './copies.js';

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

  // Only server 2 had carried out a release. Its client had the answer, and never deleted the node that came back with the others' data.
  it('names the nodes that have to go, whether one server alone had them or not', () => {
    const round = copies(
      ['/e/a', '/e/b', '/e in version 19'],
      ['/e/a', '/e/c', '/e in version 20'],
      ['/e/a', '/e/b', '/e in version 19'],
    );
    const disagreements = disagreementsIn([round, round]);
    expect(disputedIn(['/e/a', '/e/b', '/e/d'], disagreements)).toEqual(['/e/b']);
    expect(disputedIn(['/e/c', '/e/a'], disagreements)).toEqual(['/e/c']);
  });
});

import { expect, it } from 'vitest';
import { inTurn, ratio } from './compare.mjs';

it('the order of the contestants begins with another contestant in each round, and leaves none out', () => {
  const rounds = [0, 1, 2, 3].map((round) => inTurn(['a', 'b', 'c'], round).join(''));
  expect(rounds).toEqual(['abc', 'bca', 'cab', 'abc']);
  expect(inTurn([], 1)).toEqual([]);
});

it('the ratio of two contestants is that within each round, so that a slow round counts no more than a fast one', () => {
  const ours = [[80], [8000], [70]];
  const theirs = [[100], [10_000], [100]];
  expect(ratio(ours, theirs)).toBe(0.8);
});

import { beforeAll, describe, expect, it } from 'vitest';
import { findZ3, solve } from './solve.mjs';

beforeAll(() => findZ3());

describe('Z3', () => {
  it('says of each text whether its assertions can hold together', async () => {
    const texts = ['(assert true)', '(assert false)', '(declare-const x Int) (assert (and (< 1 x) (< x 3)))'];
    expect(await solve(texts)).toEqual(['sat', 'unsat', 'sat']);
  });

  it('forgets a text before it reads the next one', async () => {
    const text = '(declare-const x Int) (assert (< x 1))';
    expect(await solve([text, `${text} (assert (< 1 x))`, text])).toEqual(['sat', 'unsat', 'sat']);
  });

  it('throws what it refuses', async () => {
    await expect(solve(['(assert unheard-of)'])).rejects.toThrow('unknown constant unheard-of');
  });
});

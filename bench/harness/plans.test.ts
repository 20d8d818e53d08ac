import { expect, it } from 'vitest';
import { plansOf } from './plans.mjs';

const say = () => undefined;

it('the plans of a benchmark are fewer paces and fewer contenders in a quick run', () => {
  const quick = plansOf({ quick: true, rounds: 2, say }, ['at once', 'after a while']);
  expect(quick).toEqual([
    { servers: 1, pace: 'at once', crowds: [15, 50], rounds: 2 },
    { servers: 1, pace: 'after a while', crowds: [15], rounds: 1 },
  ]);
  expect(plansOf({ quick: true, rounds: 2, say }, ['at once'])).toEqual(quick.slice(0, 1));
  const full = plansOf({ quick: false, rounds: 5, say }, ['at once']);
  expect(full.filter(({ servers }) => servers === 1).map(({ crowds }) => crowds)).toEqual([
    ...[[15, 100, 1000], [15]],
    ...[[15, 100, 1000], [15]],
  ]);
  expect(full.filter(({ servers }) => servers === 3)).toHaveLength(2);
});

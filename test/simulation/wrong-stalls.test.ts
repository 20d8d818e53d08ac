import { expect, it } from 'vitest';
import { LeaseCell } from '../../src/lease/lease-in-shared-memory.js';
import { StallWatch } from '../../src/session/connection-thread/stall-watch.js';
import { simulate } from './run.js';
import { findEach, replace } from './wrong.js';

it('the simulation of stalled main threads finds nothing wrong', async () => {
  const { violations, counts } = await simulate({
    ...{ seed: 1, hours: 0.2, rules: 'shipped', faultRate: 'stalls' },
  });
  expect(violations).toEqual([]);
  expect(counts.get('leases extended while the main thread stood still')).toBeGreaterThan(0);
}, 120_000);

findEach([
  {
    what: 'a thread that repeats heartbeats for a main thread that never goes on',
    hint: 1,
    found: /^(stall|takeover): /,
    faultRate: 'stalls',
    make: () => replace(StallWatch.prototype, 'turns', () => () => true),
  },
  {
    what: 'a cell whose readers ignore why the term is over',
    hint: 1,
    found: /^(lease|two leaders): /,
    faultRate: 'stalls',
    make: () =>
      replace(LeaseCell.prototype, 'isHeld', () => {
        return function (this: LeaseCell) {
          return this.leftMs() > 0;
        };
      }),
  },
]);

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ClockOffset } from '../../../../src/platform/time/clock-offset.js';

it('another clock is known to within the least delay of the last events', () => {
  const ahead = fc.integer({ min: -1e6, max: 1e6 });
  const delays = fc.array(fc.nat(500), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(ahead, delays, (dashboardAhead, ways) => {
      const estimate = new ClockOffset(32);
      let page = 1e7;
      for (const way of ways) {
        page += 1_000;
        estimate.sample(page - way + dashboardAhead, page);
      }
      expect(estimate.aheadMs).toBe(dashboardAhead - Math.min(...ways));
    }),
  );
});

it('a clock that was set is followed after some events', () => {
  const estimate = new ClockOffset(32);
  expect(estimate.aheadMs).toBe(0);
  estimate.sample(10_000, 0);
  expect(estimate.aheadMs).toBe(10_000);
  for (let event = 1; event <= 32; event += 1) estimate.sample(event, event);
  expect(estimate.aheadMs).toBe(0);
});

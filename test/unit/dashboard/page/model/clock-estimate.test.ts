import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ClockEstimate } from '../../../../../src/dashboard/page/model/clock-estimate.js';

it("the dashboard's clock is known to within the least delay of the last events", () => {
  const ahead = fc.integer({ min: -1e6, max: 1e6 });
  const delays = fc.array(fc.nat(500), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(ahead, delays, (dashboardAhead, ways) => {
      const estimate = new ClockEstimate();
      let page = 1e7;
      for (const way of ways) {
        page += 1_000;
        estimate.observe(page - way + dashboardAhead, page);
      }
      expect(estimate.dashboardAt(page)).toBe(page + dashboardAhead - Math.min(...ways));
    }),
  );
});

it('a clock that was set is followed after some events', () => {
  const estimate = new ClockEstimate();
  expect(estimate.dashboardAt(5)).toBe(5);
  estimate.observe(10_000, 0);
  expect(estimate.dashboardAt(5)).toBe(10_005);
  for (let event = 1; event <= 32; event += 1) estimate.observe(event, event);
  expect(estimate.dashboardAt(100)).toBe(100);
});

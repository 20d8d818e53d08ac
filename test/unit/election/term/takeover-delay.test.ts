import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeoverDelayMs } from '../../../../src/election/term/takeover-delay.js';

describe('the takeover delay', () => {
  it('outlasts the former lease whenever the two clocks run at rates within 1 % of each other', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 120_000, noNaN: true }),
        fc.double({ min: 0.99, max: 1.01, noNaN: true }),
        fc.double({ min: 0.99, max: 1.01, noNaN: true }),
        (leaseMs, rateOfLeader, rateOfSuccessor) => {
          // In true time: how long the lease takes by the leader's clock, and the delay by the successor's clock.
          const leaseLasts = leaseMs / rateOfLeader;
          const delayLasts = takeoverDelayMs(leaseMs) / rateOfSuccessor;
          expect(delayLasts).toBeGreaterThan(leaseLasts);
        },
      ),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extendLease, Lease, NO_LEASE } from '../../src/session/lease.js';
import { FakeClock } from '../helpers/fake-clock.js';

const ms = fc.double({ min: 0, max: 1e6, noNaN: true });

describe('the lease', () => {
  it('runs from when the newest acknowledged heartbeat was sent, in whatever order the replies come', () => {
    fc.assert(
      fc.property(fc.array(ms, { minLength: 1 }), ms, (sent, leaseMs) => {
        const until = sent.reduce((end, sentAt) => extendLease(end, sentAt, leaseMs), NO_LEASE);
        expect(until).toBe(Math.max(...sent) + leaseMs);
      }),
    );
  });

  it('never depends on when the reply came', () => {
    const clock = new FakeClock();
    const lease = new Lease(clock);
    clock.jump(900);
    lease.confirm(0, 1000); // The reply took 900 ms.
    expect(lease.remainingMs()).toBe(100);
  });

  it('is over at the very moment it ends, also when no timer could run', () => {
    const clock = new FakeClock();
    const lease = new Lease(clock);
    expect(lease.isCurrent()).toBe(false);
    lease.confirm(0, 1000);
    clock.jump(999);
    expect(lease.isCurrent()).toBe(true);
    clock.jump(1);
    expect(lease.isCurrent()).toBe(false);
    expect(lease.remainingMs()).toBe(0);
  });
});

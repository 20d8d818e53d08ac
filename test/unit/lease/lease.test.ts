import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lease } from '../../../src/lease/lease.js';
import { TestClock } from '../../../src/testing/controls/test-clock.js';
import { instantAt } from '../../support/lease-instant.js';

const ms = fc.double({ min: 0, max: 1e6, noNaN: true });

describe('the lease', () => {
  it('was longer than the record said when a reconnect had granted a shorter session timeout', () => {
    const clock = new TestClock();
    let leaseMs = 10_000;
    const lease = new Lease({
      clock,
      get leaseMs() {
        return leaseMs;
      },
    });
    lease.confirmed(instantAt(0));
    leaseMs = 1333; // From now on a claim writes this lease into the record, and a successor waits for it.
    expect(lease.remainingMs()).toBe(1333);
  });

  it('runs from when the newest acknowledged heartbeat was sent, in whatever order the replies come', () => {
    fc.assert(
      fc.property(fc.array(ms, { minLength: 1 }), ms, (sent, leaseMs) => {
        const clock = new TestClock();
        const lease = new Lease({
          clock,
          get leaseMs() {
            return leaseMs;
          },
        });
        for (const sentAt of sent) lease.confirmed(instantAt(sentAt));
        expect(lease.remainingMs()).toBe(Math.max(0, Math.max(...sent) + leaseMs));
      }),
    );
  });

  it('is over at the very moment it ends, also when no timer could run', () => {
    const clock = new TestClock();
    const lease = new Lease({ clock, leaseMs: 1000 });
    expect(lease.isHeld()).toBe(false);
    lease.confirmed(instantAt(0));
    clock.jump(999);
    expect(lease.isHeld()).toBe(true);
    clock.jump(1);
    expect(lease.isHeld()).toBe(false);
    expect(lease.remainingMs()).toBe(0);
  });

  it('is over by the time of a timer that is set for what is left of it, or of the next one', () => {
    fc.assert(
      fc.property(ms, ms, fc.double({ min: 0, max: 1e4, noNaN: true }), (startMs, laterMs, leaseMs) => {
        const clock = new TestClock();
        const lease = new Lease({ clock, leaseMs });
        lease.confirmed(instantAt(startMs));
        clock.jump(startMs + Math.min(laterMs, leaseMs / 3));
        for (let timers = 0; timers < 3 && lease.isHeld(); timers++) clock.jump(lease.remainingAtMostMs());
        expect(lease.isHeld()).toBe(false);
      }),
      { numRuns: 10_000 },
    );
  });

  it('may seem longer to a timer where the machine was suspended, and to nothing else', () => {
    const clock = new TestClock();
    const suspended = Object.assign(clock, { leaseNow: () => clock.now(), leaseStart: () => 400 });
    suspended.jump(900);
    const lease = new Lease({ clock: suspended, leaseMs: 1000 });
    lease.confirmed(instantAt(0));
    expect([lease.remainingMs(), lease.remainingAtMostMs()]).toEqual([100, 600]);
    suspended.jump(100);
    expect(lease.isHeld()).toBe(false);
  });
});

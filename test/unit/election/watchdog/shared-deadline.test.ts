import { describe, expect, it } from 'vitest';
import { SharedDeadline } from '../../../../src/election/watchdog/shared-deadline.js';
import { machineInstantIn } from '../../../../src/platform/time/machine-instant.js';

/** Waits as another thread does, by the same memory. */
const waitBy = ({ memory }: SharedDeadline) => new SharedDeadline(memory).wait();

describe("the watchdog's deadline", () => {
  it('has passed when its time is over, and not before', () => {
    const deadline = new SharedDeadline();
    const setAt = process.hrtime.bigint();
    deadline.setIn(() => 40);
    expect(waitBy(deadline)).toBe(true);
    expect(Number(process.hrtime.bigint() - setAt) / 1e6).toBeGreaterThanOrEqual(40);
  });

  it('has not passed while another thread extends the lease, though this one stands still', () => {
    const deadline = new SharedDeadline();
    const until = process.hrtime.bigint() + 60_000_000n;
    deadline.lease.lasts(60);
    deadline.lease.proved(machineInstantIn(() => 0));
    deadline.setIn(() => -1);
    expect(waitBy(deadline)).toBe(true);
    expect(process.hrtime.bigint()).toBeGreaterThanOrEqual(until);
  });

  it('has passed at once when the thread comes too late', () => {
    const deadline = new SharedDeadline();
    deadline.setIn(() => -1);
    expect(waitBy(deadline)).toBe(true);
  });

  it('never passes once its thread is to stop', () => {
    const deadline = new SharedDeadline();
    deadline.setIn(() => -1);
    deadline.stop();
    expect(waitBy(deadline)).toBe(false);
  });

  it('is nearer by a pause between the reading of the clock and that of the lease', () => {
    const deadline = new SharedDeadline();
    const until = process.hrtime.bigint() + 60_000_000n;
    deadline.setIn(() => {
      while (process.hrtime.bigint() < until);
      return 50;
    });
    const setAt = process.hrtime.bigint();
    expect(waitBy(deadline)).toBe(true);
    expect(Number(process.hrtime.bigint() - setAt) / 1e6).toBeLessThan(50);
  });
});

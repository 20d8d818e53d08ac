import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { build } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { machineInstantIn, msUntil } from '../../../../src/platform/time/machine-instant.js';

/** A machine with two clocks. One leaves out the time for which the machine was suspended, the other one counts it, in steps. */
function machine({ stepMs = 10 } = {}) {
  const state = { running: 5000, suspended: 0 };
  const sources = {
    monotonicMs: () => state.running,
    uptime: { stepMs, readMs: () => Math.floor((state.running + state.suspended) / stepMs) * stepMs },
  };
  return { state, sources };
}

describe('an instant of the machine', () => {
  it('is the same for all its processes, to the granularity of the coarser clock', async () => {
    const input = join(import.meta.dirname, '../../../../src/platform/time/machine-instant.ts');
    const { output } = await build({ input, platform: 'node', write: false });
    const instant = machineInstantIn(() => 60_000);
    const script = `${output[0].code}; console.log(msUntil(${JSON.stringify(instant)}))`;
    const before = msUntil(instant);
    const elsewhere = Number(execFileSync(process.execPath, ['--input-type=module', '--eval', script]));
    expect(elsewhere).toBeLessThanOrEqual(before);
    expect(elsewhere).toBeGreaterThanOrEqual(msUntil(instant));
  });

  it('comes nearer while the machine is suspended, and is over for good', () => {
    const { state, sources } = machine();
    const instant = machineInstantIn(() => 1000, sources);
    expect(msUntil(instant, sources)).toBe(1000);
    state.running += 300;
    expect(msUntil(instant, sources)).toBe(700);
    state.suspended += 600;
    expect(msUntil(instant, sources)).toBeCloseTo(100 + 20, 5);
    state.suspended += 3_600_000;
    expect(msUntil(instant, sources)).toBeLessThan(-3_000_000);
  });

  it('goes by the uptime alone where each process has a monotonic clock of its own', () => {
    const { state, sources } = machine();
    const instant = machineInstantIn(() => 1000, { ...sources, isMonotonicShared: false });
    expect(instant.monotonicMs).toBeUndefined();
    // Another process, which was started later.
    const elsewhere = { ...sources, monotonicMs: () => sources.monotonicMs() - 4000 };
    state.running += 300;
    expect(msUntil(instant, elsewhere)).toBeCloseTo(700 + 20, 5);
  });

  it('is not to be had where no clock is shared by all processes', () => {
    expect(() => machineInstantIn(() => 1000, { monotonicMs: () => 0, isMonotonicShared: false })).toThrow(
      'no clock here that all processes share: use Node',
    );
  });
});

import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { JobRun } from '../../src/jobs/index.js';
import { currentTerm } from '../../src/lease/current-term.js';
import { deferred } from '../../src/platform/async/promises.js';
import { JobTester } from '../../src/testing/index.js';
import { until } from '../support/waiting.mjs';

const HOUR = 3_600_000;

async function startTester(): Promise<JobTester> {
  const tester = await JobTester.start();
  onTestFinished(() => tester.stop());
  return tester;
}

describe('a JobTester', () => {
  it('runs jobs as in the leader and as in a replica that waits, and over a handover', async () => {
    const tester = await startTester();
    const runs: JobRun[] = [];
    const job = tester.jobs.job('job', (run) => {
      runs.push(run);
      return currentTerm();
    });
    expect(await job()).toBeUndefined();
    expect(runs).toEqual([]);
    const term = await tester.lead();
    await until(() => runs.length === 1);
    expect(await job(new Date(Date.now() + 2000))).toBe(term);
    expect(await tester.lead()).toBe(term);
    await tester.follow();
    await tester.follow();
    expect(await job(new Date(Date.now() + 4000))).toBeUndefined();
    expect(runs.map(({ token }) => token)).toEqual([term.token, term.token]);
  });

  it('aborts the signal of a run at a handover, and waits for the run', async () => {
    const tester = await startTester();
    const [begun, steps] = [deferred(), [] as string[]];
    const job = tester.jobs.job('job', async ({ signal }) => {
      begun.resolve();
      await new Promise((aborted) => signal.addEventListener('abort', aborted));
      steps.push('aborted');
    });
    await tester.lead();
    const called = job();
    await begun.promise;
    await tester.follow();
    steps.push('follows');
    await called;
    expect(steps).toEqual(['aborted', 'follows']);
  });
});

describe('the fake timers of a test runner', () => {
  afterEach(() => void vi.useRealTimers());

  it('swallowed the firings that came within a second of the real clock', async () => {
    const tester = await startTester();
    const ran: string[] = [];
    const job = tester.jobs.job('hourly', ({ scheduledFor }) => void ran.push(scheduledFor.toISOString()));
    await tester.lead();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'], now: Date.UTC(2030, 0, 1) });
    const calls: Promise<unknown>[] = [];
    const timer = setInterval(() => calls.push(job()), HOUR);
    for (let hour = 0; hour < 3; hour++) {
      await vi.advanceTimersByTimeAsync(HOUR);
      await Promise.all(calls); // Time stands still meanwhile.
    }
    clearInterval(timer);
    expect(ran).toEqual([1, 2, 3].map((hour) => `2030-01-01T0${hour}:00:00.000Z`));
  });
});

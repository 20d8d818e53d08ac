import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterPendingInput,
  batchesInTurns,
  type LeaseInstant,
  leaseAgeMs,
  leaseStart,
  SystemClock,
  sleep,
  type Timer,
  type TimerOptions,
} from '../../../../src/platform/time/clock.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

/**
 * A machine with two clocks. One leaves out the time for which the machine was suspended, the other one counts it. The process
 * stands still for a while after a reading of either, as long as there are pauses.
 */
function machine({ stepMs = 10, pauses = [] as number[] } = {}) {
  const state = { running: 5000, suspended: 0 };
  const left = [...pauses];
  const read = (ms: number) => {
    state.running += left.shift() ?? 0;
    return ms;
  };
  const sources = {
    monotonicMs: () => read(state.running),
    // In steps of 10 ms, like the system's.
    uptime: {
      stepMs,
      readMs: () => read(Math.floor((state.running + state.suspended) / stepMs) * stepMs),
    },
  };
  return { state, sources, clock: new SystemClock(sources), truth: () => state.running + state.suspended };
}

// After this a machine looks as if it had been suspended for an hour: one of its clocks is ahead by an hour, the other one isn't.
const HOUR_LATER = ['unshare', '-T', '--boottime', '3600'];

/** Reads the two clocks behind the system's clock in a process that `command` starts. */
function readClocks(...command: string[]): { monotonicMs: number; uptimeMs: number } {
  // Takes the two readings that are nearest to each other, because on a busy machine a process may stand still in between.
  const script = `
    const monotonic = () => Number(process.hrtime.bigint()) / 1e6;
    const readings = Array.from({ length: 50 }, () => {
      const [monotonicMs, uptimeMs] = [monotonic(), os.uptime() * 1000];
      return { monotonicMs, uptimeMs, tookMs: monotonic() - monotonicMs };
    });
    console.log(JSON.stringify(readings.sort((a, b) => a.tookMs - b.tookMs)[0]));
  `;
  const [program, ...args] = [...command, process.execPath, '-e', script];
  return JSON.parse(
    execFileSync(program as string, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
}

/** Time namespaces need Linux, privileges, and a container that lets them through. */
function namespacesAllowed(): boolean {
  try {
    readClocks(...HOUR_LATER);
    return true;
  } catch {
    return false;
  }
}

describe("the machine's clock", () => {
  const stepsAndPauses = {
    steps: fc.array(fc.record({ ms: fc.nat(10_000), isSuspended: fc.boolean() }), { minLength: 1 }),
    pauses: fc.array(fc.oneof(fc.constant(0), fc.nat(2000))),
  };

  it('never runs ahead for waits, also where the process stands still between two readings', () => {
    fc.assert(
      fc.property(fc.record(stepsAndPauses), ({ steps, pauses }) => {
        const { state, clock, truth } = machine({ pauses });
        let [begun, since] = [truth(), clock.now()];
        for (const { ms, isSuspended } of steps) {
          state[isSuspended ? 'suspended' : 'running'] += ms;
          leaseAgeMs(clock, leaseStart(clock)); // Leases and waits go by one object.
          expect(clock.now() - since).toBeLessThanOrEqual(truth() - begun);
          [begun, since] = [truth(), clock.now()];
        }
      }),
    );
  });

  it('never lags behind for leases by more than 30 ms, also where the process stands still between two readings', () => {
    fc.assert(
      fc.property(fc.record(stepsAndPauses), ({ steps, pauses }) => {
        const { state, clock, truth } = machine({ pauses });
        const begun: [LeaseInstant, number][] = [];
        for (const { ms, isSuspended } of steps) {
          const since = leaseStart(clock);
          begun.push([since, truth()]); // What is sent after that is sent then or later.
          state[isSuspended ? 'suspended' : 'running'] += ms;
          for (const [instant, sentAt] of begun) {
            const askedAt = truth();
            expect(leaseAgeMs(clock, instant)).toBeGreaterThan(askedAt - sentAt - 30);
          }
        }
      }),
    );
  });

  it('goes on for leases as the monotonic clock does after a pause between two readings', () => {
    const { state, clock } = machine({ pauses: [0, 0, 700] });
    leaseAgeMs(clock, leaseStart(clock)); // It stood still in here.
    const since = leaseStart(clock);
    state.running += 1000;
    expect(leaseAgeMs(clock, since)).toBe(1000);
  });

  it('never runs ahead where the uptime has whole seconds, and counts a suspension of three seconds', () => {
    const { state, clock, truth } = machine({ stepMs: 1000 });
    const [begun, since, lease] = [truth(), clock.now(), leaseStart(clock)];
    for (let count = 0; count < 100; count++) {
      state.running += 37;
      expect(clock.now() - since).toBe(truth() - begun);
      expect(leaseAgeMs(clock, lease)).toBe(truth() - begun);
    }
    state.suspended += 3000;
    expect(leaseAgeMs(clock, lease)).toBeGreaterThan(truth() - begun - 2020);
    expect(clock.now() - since).toBe(truth() - begun - 3000);
  });

  it('goes by one reading where the machine has no other', () => {
    const state = { ms: 5000 };
    const clock = new SystemClock({ monotonicMs: () => state.ms });
    const since = leaseStart(clock);
    state.ms += 1000;
    expect([clock.now(), leaseAgeMs(clock, since)]).toEqual([6000, 1000]);
  });

  it('begins a lease no later than its present, nor earlier than any present that was asked for before', () => {
    const step = fc.record({ ms: fc.nat(10_000), asleep: fc.boolean(), read: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const { state, clock } = machine();
        let last = clock.leaseNow();
        for (const { ms, asleep, read } of steps) {
          state[asleep ? 'suspended' : 'running'] += ms;
          const start = clock.leaseStart();
          expect(start).toBeGreaterThanOrEqual(last);
          if (!read) continue;
          last = clock.leaseNow();
          expect(start).toBeLessThanOrEqual(last);
          expect(clock.leaseStart()).toBe(last);
        }
      }),
    );
  });

  it.skipIf(!namespacesAllowed())(
    'counts an hour of suspension that only CLOCK_BOOTTIME knows of (in a time namespace of Linux)',
    () => {
      let reading = readClocks();
      const clock = new SystemClock({
        monotonicMs: () => reading.monotonicMs,
        uptime: { stepMs: 10, readMs: () => reading.uptimeMs },
      });
      const [start, before] = [leaseStart(clock), reading];
      reading = readClocks(...HOUR_LATER);
      const awakeMs = reading.monotonicMs - before.monotonicMs;
      expect(awakeMs).toBeLessThan(60_000);
      expect(leaseAgeMs(clock, start)).toBeGreaterThan(3_600_000 + awakeMs - 31);
      expect(leaseAgeMs(clock, start)).toBeLessThan(3_600_000 + awakeMs + 11);
    },
  );

  it('never goes back', () => {
    const sources = fc.array(fc.tuple(fc.nat(50), fc.integer({ min: -500, max: 500 })));
    fc.assert(
      fc.property(sources, (readings) => {
        const state = { monotonic: 0, uptime: 0 };
        const clock = new SystemClock({
          monotonicMs: () => state.monotonic,
          uptime: { stepMs: 10, readMs: () => state.uptime },
        });
        let last = [clock.now(), clock.leaseNow()] as const;
        for (const [step, uptime] of readings) {
          state.monotonic += step;
          state.uptime = uptime;
          const [now, leaseNow] = [clock.now(), clock.leaseNow()];
          expect(now).toBeGreaterThanOrEqual(last[0]);
          expect(leaseNow).toBeGreaterThanOrEqual(last[1]);
          last = [now, leaseNow];
        }
      }),
    );
  });

  it('runs a timer that is longer than Node can count, when its time has come and not at once', async () => {
    const node = new TestClock();
    class StillClock extends SystemClock {
      override after(ms: number, task: () => void, options?: TimerOptions): Timer {
        return ms < 2 ** 31 ? node.after(ms, task) : super.after(ms, task, options);
      }
    }
    let runs = 0;
    const clock = new StillClock();
    clock.after(2 ** 32, () => runs++);
    const cleared = clock.after(2 ** 32, () => runs++);
    await node.advance(2 ** 31);
    cleared.clear();
    await node.advance(2 ** 31 - 10);
    expect(runs).toBe(0);
    await node.advance(20);
    expect(runs).toBe(1);
  });
});

it('sleep rejects with the reason when its signal aborts, and leaves no timer', async () => {
  const clock = new TestClock();
  const abort = new AbortController();
  const sleeping = sleep(clock, 1000, abort.signal);
  expect(clock.timerCount).toBe(1);
  abort.abort('enough');
  await expect(sleeping).rejects.toBe('enough');
  expect(clock.timerCount).toBe(0);
  await expect(sleep(clock, 1000, abort.signal)).rejects.toBe('enough');
});

describe('giving up on a peer that is not heard of', () => {
  function listen() {
    const clock = new TestClock();
    const gaveUpAt: number[] = [];
    const timer = afterPendingInput(clock, 1000, () => gaveUpAt.push(clock.now()));
    return { clock, gaveUpAt, timer };
  }

  it('happens in time', async () => {
    const { clock, gaveUpAt } = listen();
    await clock.advance(5000);
    expect(gaveUpAt).toEqual([1000]);
    expect(clock.timerCount).toBe(0);
  });

  it('happens after what lies unread has been read, also where this process went on only just too late', async () => {
    const { port1, port2 } = new MessageChannel();
    const order: string[] = [];
    const heard = new Promise<void>((resolve) => {
      port1.once('message', () => {
        order.push('heard');
        resolve();
      });
    });
    const gaveUp = new Promise<void>((resolve) => {
      // Blocks the event loop from the phase after the sockets' until just after the timer is due.
      setImmediate(() => {
        afterPendingInput(new SystemClock(), 20, () => {
          order.push('gave up');
          resolve();
        });
        port2.postMessage('');
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 21);
      });
    });
    await Promise.all([heard, gaveUp]);
    port1.close();
    expect(order).toEqual(['heard', 'gave up']);
  });

  it.each([
    ['as much later again as this process was late', 1300, 1600],
    ['later by no more than the time that there was at first', 9000, 10_000],
  ])('happens %s', async (_, wokeAt, gaveUp) => {
    const { clock, gaveUpAt } = listen();
    clock.jump(wokeAt);
    await clock.advance(gaveUp - wokeAt - 1);
    expect(gaveUpAt).toEqual([]);
    await clock.advance(1);
    expect(gaveUpAt).toEqual([gaveUp]);
  });

  it('does not happen any more once that is taken back, neither before nor after it was late', async () => {
    for (const late of [false, true]) {
      const { clock, gaveUpAt, timer } = listen();
      if (late) clock.jump(1500);
      await clock.advance(10);
      timer.clear();
      await clock.advance(9000);
      expect(gaveUpAt).toEqual([]);
      expect(clock.timerCount).toBe(0);
    }
  });
});

it('the event loop turns between two batches, and no longer once the signal aborts', async () => {
  const clock = new SystemClock();
  const abort = new AbortController();
  const done: unknown[] = [];
  const taking = (async () => {
    for await (const batch of batchesInTurns(clock, [1, 2, 3, 4, 5], 2, abort.signal)) {
      clock.after(0, () => done.push('another event'));
      done.push(batch);
      if (batch.includes(3)) abort.abort('enough');
    }
  })();
  await expect(taking).rejects.toBe('enough');
  expect(done).toEqual([[1, 2], 'another event', [3, 4]]);
});

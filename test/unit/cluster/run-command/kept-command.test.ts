import { describe, expect, it } from 'vitest';
import type { CommandProcesses } from '../../../../src/cluster/run-command/command-processes.js';
import { KeptCommand, type KeptCommandOptions } from '../../../../src/cluster/run-command/kept-command.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

const LEASE_MS = 1000;
const MARGIN_MS = 125;

/** Processes that are alive until the test ends them. Records the signals that they were sent, with the times. */
class FakeProcesses implements CommandProcesses {
  readonly received: [at: number, signal: NodeJS.Signals][] = [];
  readonly #clock: TestClock;
  isEmpty = false;
  looks = 0; // How often all processes were looked through, to signal them too.

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  signal(name: NodeJS.Signals): void {
    this.looks++;
    if (!this.isEmpty) this.received.push([this.#clock.now(), name]);
  }

  isGone(): boolean {
    this.looks++;
    return this.isEmpty;
  }

  get signals(): NodeJS.Signals[] {
    return this.received.map(([, name]) => name);
  }
}

/** What is left of a lease that lasts so long from now. */
function leaseOf(clock: TestClock, ms: number): () => number {
  const end = clock.now() + ms;
  return () => end - clock.now();
}

function keep(options: Partial<KeptCommandOptions> = {}) {
  const clock = new TestClock();
  const processes = new FakeProcesses(clock);
  const warnings: number[] = [];
  let isGone = false;
  const command = new KeptCommand({
    clock,
    processes,
    remainingMs: leaseOf(clock, LEASE_MS),
    leaseMs: LEASE_MS,
    graceMs: 5000,
    onLeaseRunningOut: () => warnings.push(clock.now()),
    ...options,
  });
  void command.gone.then(() => {
    isGone = true;
  });
  return { clock, processes, command, warnings, isGone: () => isGone };
}

describe('a kept command', () => {
  it('is left alone while its lease is renewed', async () => {
    const { clock, processes, command, warnings } = keep();
    for (let beat = 0; beat < 40; beat++) {
      await clock.advance(250);
      command.extendLease(leaseOf(clock, LEASE_MS - 50));
    }
    expect(processes.received).toEqual([]);
    expect(warnings).toEqual([]);
    expect(clock.timerCount).toBe(1);
  });

  it('is asked to end, and killed before its lease ends, when that is not renewed', async () => {
    const { clock, processes, warnings } = keep();
    await clock.advance(LEASE_MS);
    const [asked, went, killed] = processes.received;
    expect(asked).toEqual([LEASE_MS - MARGIN_MS - 250, 'SIGTERM']);
    expect(went).toEqual([LEASE_MS - MARGIN_MS - 250, 'SIGCONT']);
    expect(killed).toEqual([LEASE_MS - MARGIN_MS, 'SIGKILL']);
    expect(warnings).toEqual([LEASE_MS - MARGIN_MS - 250]);
  });

  it('is given the rest of its grace, and ends all the same, when the lease is renewed after all', async () => {
    const { clock, processes, command } = keep({ graceMs: 2000 });
    await clock.advance(700);
    expect(processes.signals).toEqual(['SIGTERM', 'SIGCONT']);
    for (let beat = 0; beat < 8; beat++) {
      command.extendLease(leaseOf(clock, LEASE_MS));
      await clock.advance(240);
    }
    expect(processes.signals).toEqual(['SIGTERM', 'SIGCONT']);
    command.extendLease(leaseOf(clock, LEASE_MS));
    await clock.advance(10);
    expect(processes.received.find(([, signal]) => signal === 'SIGKILL')).toEqual([625 + 2000, 'SIGKILL']);
  });

  it('is killed at the first check after its keeper was stopped beyond the lease', async () => {
    const { clock, processes, warnings } = keep();
    clock.jump(60_000);
    await clock.advance(0);
    expect(processes.signals).toEqual(['SIGKILL']);
    expect(warnings).toEqual([60_000]);
  });

  it('is killed before its lease ends also where the keeper stands still between two readings of its clock', async () => {
    const { clock, processes, command } = keep();
    const lease = leaseOf(clock, 2000);
    let pauseMs = 400;
    command.extendLease(() => {
      clock.jump(pauseMs);
      pauseMs = 0;
      return lease();
    });
    await clock.advance(2000);
    const killedAt = processes.received.find(([, name]) => name === 'SIGKILL')?.[0];
    expect(killedAt).toBeLessThanOrEqual(2000 - MARGIN_MS);
  });

  it('goes by the latest end of its lease, in whatever order the messages come', async () => {
    const { clock, processes, command } = keep();
    command.extendLease(leaseOf(clock, 2000));
    command.extendLease(leaseOf(clock, 10));
    await clock.advance(1500);
    expect(processes.received).toEqual([]);
  });

  it('is sent each signal that asks for its end, and is killed when the shortest grace is over', async () => {
    const { clock, processes, command } = keep({ remainingMs: () => 60_000 });
    command.end('SIGINT', 4000);
    command.end('SIGTERM', 1000);
    command.end('SIGINT', 30_000);
    await clock.advance(999);
    expect(processes.signals.filter((signal) => signal !== 'SIGCONT')).toEqual([
      'SIGINT',
      'SIGTERM',
      'SIGINT',
    ]);
    await clock.advance(1);
    expect(processes.received.at(-1)).toEqual([1000, 'SIGKILL']);
  });

  it('is gone when nothing of it is left, and not before', async () => {
    const { clock, processes, command, isGone } = keep({ graceMs: 300 });
    command.onExit();
    expect(processes.signals).toEqual(['SIGTERM', 'SIGCONT']);
    await clock.advance(299);
    expect(isGone()).toBe(false);
    await clock.advance(1);
    expect(processes.signals.at(-1)).toBe('SIGKILL');
    processes.isEmpty = true;
    await clock.advance(50);
    expect(isGone()).toBe(true);
    expect(clock.timerCount).toBe(0);
  });

  it('is gone at once when it leaves no descendants, and is sent nothing any more', async () => {
    const { clock, processes, command, isGone } = keep();
    processes.isEmpty = true;
    command.onExit();
    command.end('SIGTERM');
    command.extendLease(leaseOf(clock, LEASE_MS));
    await clock.advance(LEASE_MS);
    expect(isGone()).toBe(true);
    expect(processes.received).toEqual([]);
    expect(clock.timerCount).toBe(0);
  });

  it('is killed again and again until it is gone', async () => {
    const { clock, processes, command } = keep({ graceMs: 0 });
    command.end('SIGTERM');
    await clock.advance(500);
    expect(processes.signals.filter((signal) => signal === 'SIGKILL').length).toBeGreaterThan(5);
  });

  it.each(['before', 'never'])(
    'that does not die is looked for less and less often; it has exited %s',
    async (exited) => {
      const { clock, processes, command } = keep({ graceMs: 0 });
      if (exited === 'before') command.onExit();
      command.end('SIGTERM');
      await clock.advance(10_000);
      processes.looks = 0;
      for (let beat = 0; beat < 240; beat++) {
        command.extendLease(leaseOf(clock, LEASE_MS));
        await clock.advance(250);
      }
      expect(processes.looks).toBeGreaterThan(0);
      expect(processes.looks).toBeLessThanOrEqual(120);
    },
  );

  it('whose descendants take long to end is gone soon after them', async () => {
    const { clock, processes, command, isGone } = keep({ remainingMs: () => 60_000, graceMs: 30_000 });
    command.onExit();
    await clock.advance(3000);
    processes.isEmpty = true;
    await clock.advance(300);
    expect(isGone()).toBe(true);
  });

  it('is sent the signals that are forwarded', () => {
    const { processes, command } = keep();
    command.forward('SIGHUP');
    expect(processes.signals).toEqual(['SIGHUP']);
  });
});

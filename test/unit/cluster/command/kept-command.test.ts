import { describe, expect, it } from 'vitest';
import { KeptCommand, type KeptCommandOptions } from '../../../../src/cluster/command/kept-command.js';
import type { Processes } from '../../../../src/cluster/command/process-session.js';
import { FakeClock } from '../../../helpers/fake-clock.js';

const LEASE_MS = 1000;
const MARGIN_MS = 125;

/** Processes that are as alive as the test says, and what they were sent when. */
class FakeProcesses implements Processes {
  readonly received: [at: number, signal: NodeJS.Signals][] = [];
  readonly #clock: FakeClock;
  isEmpty = false;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  signal(name: NodeJS.Signals): void {
    if (!this.isEmpty) this.received.push([this.#clock.now(), name]);
  }

  isGone(): boolean {
    return this.isEmpty;
  }

  get signals(): NodeJS.Signals[] {
    return this.received.map(([, name]) => name);
  }
}

function keep(options: Partial<KeptCommandOptions> = {}) {
  const clock = new FakeClock();
  const group = new FakeProcesses(clock);
  const told: number[] = [];
  let isGone = false;
  const command = new KeptCommand({
    clock,
    processes: group,
    remainingMs: LEASE_MS,
    leaseMs: LEASE_MS,
    graceMs: 5000,
    onLeaseRunningOut: () => told.push(clock.now()),
    ...options,
  });
  void command.gone.then(() => {
    isGone = true;
  });
  return { clock, group, command, told, isGone: () => isGone };
}

describe('a command that is kept', () => {
  it('is left alone while its lease is renewed', async () => {
    const { clock, group, command, told } = keep();
    for (let beat = 0; beat < 40; beat++) {
      await clock.advance(250);
      command.extend(LEASE_MS - 50);
    }
    expect(group.received).toEqual([]);
    expect(told).toEqual([]);
    expect(clock.running).toBe(1);
  });

  it('is asked to end, and killed before its lease ends, when that is not renewed', async () => {
    const { clock, group, told } = keep();
    await clock.advance(LEASE_MS);
    const [asked, went, killed] = group.received;
    expect(asked).toEqual([LEASE_MS - MARGIN_MS - 250, 'SIGTERM']);
    expect(went).toEqual([LEASE_MS - MARGIN_MS - 250, 'SIGCONT']);
    expect(killed).toEqual([LEASE_MS - MARGIN_MS, 'SIGKILL']);
    expect(told).toEqual([LEASE_MS - MARGIN_MS - 250]);
  });

  it('is given the rest of its grace, and ends all the same, when the lease is renewed after all', async () => {
    const { clock, group, command } = keep({ graceMs: 2000 });
    await clock.advance(700);
    expect(group.signals).toEqual(['SIGTERM', 'SIGCONT']);
    for (let beat = 0; beat < 8; beat++) {
      command.extend(LEASE_MS);
      await clock.advance(240);
    }
    expect(group.signals).toEqual(['SIGTERM', 'SIGCONT']);
    command.extend(LEASE_MS);
    await clock.advance(10);
    expect(group.received.at(-1)).toEqual([625 + 2000, 'SIGKILL']);
  });

  it('is killed at the first look after its keeper stood still beyond the lease', async () => {
    const { clock, group, told } = keep();
    clock.jump(60_000);
    await clock.advance(0);
    expect(group.signals).toEqual(['SIGKILL']);
    expect(told).toEqual([60_000]);
  });

  it('goes by the newest word of its lease, in whatever order they come', async () => {
    const { clock, group, command } = keep();
    command.extend(2000);
    command.extend(10);
    await clock.advance(1500);
    expect(group.received).toEqual([]);
  });

  it('is ended by the signal that is asked for, within the shortest grace that was', async () => {
    const { clock, group, command } = keep({ remainingMs: 60_000 });
    command.end('SIGINT', 4000);
    command.end('SIGTERM', 1000);
    command.end('SIGINT', 30_000);
    await clock.advance(999);
    expect(group.signals.filter((signal) => signal !== 'SIGCONT')).toEqual(['SIGINT', 'SIGTERM', 'SIGINT']);
    await clock.advance(1);
    expect(group.received.at(-1)).toEqual([1000, 'SIGKILL']);
  });

  it('is gone when nothing of it is left, and not before', async () => {
    const { clock, group, command, isGone } = keep({ graceMs: 300 });
    command.exited();
    expect(group.signals).toEqual(['SIGTERM', 'SIGCONT']);
    await clock.advance(299);
    expect(isGone()).toBe(false);
    await clock.advance(1);
    expect(group.signals.at(-1)).toBe('SIGKILL');
    group.isEmpty = true;
    await clock.advance(50);
    expect(isGone()).toBe(true);
    expect(clock.running).toBe(0);
  });

  it('is gone at once when it was alone, and is sent nothing any more', async () => {
    const { clock, group, command, isGone } = keep();
    group.isEmpty = true;
    command.exited();
    command.end('SIGTERM');
    command.extend(LEASE_MS);
    await clock.advance(LEASE_MS);
    expect(isGone()).toBe(true);
    expect(group.received).toEqual([]);
    expect(clock.running).toBe(0);
  });

  it('is killed again and again until it is gone', async () => {
    const { clock, group, command } = keep({ graceMs: 0 });
    command.end('SIGTERM');
    await clock.advance(500);
    expect(group.signals.filter((signal) => signal === 'SIGKILL').length).toBeGreaterThan(5);
  });

  it('hears of the signals that are for it', () => {
    const { group, command } = keep();
    command.forward('SIGHUP');
    expect(group.signals).toEqual(['SIGHUP']);
  });
});

import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type EndReason, LeaseCell } from '../../../src/lease/lease-in-shared-memory.js';
import { machineInstantIn, type TimeSources } from '../../../src/platform/time/machine-instant.js';

/** The machine's clocks: the up time counts suspensions too. What a lease may last longer by the up time is its step and a margin. */
function machine({ hasUptime = true, isMonotonicShared = true } = {}) {
  const clock = { monotonicMs: 5_000_000, suspendedMs: 0 };
  const uptime = { readMs: () => clock.monotonicMs + clock.suspendedMs, stepMs: 10 };
  const sources: TimeSources = {
    monotonicMs: () => clock.monotonicMs,
    isMonotonicShared,
    ...(hasUptime && { uptime }),
  };
  const cell = new LeaseCell(undefined, sources);
  return {
    clock,
    cell,
    extend: (ms: number) => cell.extend(machineInstantIn(() => ms, sources)),
    /** As another thread sees the cell. */
    reader: () => new LeaseCell(cell.memory, sources),
  };
}

const TOLERANCE_MS = 20;

describe('the cell of a term', () => {
  afterEach(() => void vi.unstubAllGlobals());

  it('is over before the lease has begun', () => {
    const { cell, reader } = machine();
    expect(reader().isHeld()).toBe(false);
    expect(cell.reason).toBe('lease-expired');
  });

  it.each([
    ['with both clocks', {}],
    ['without an up time', { hasUptime: false }],
    ['with the up time alone', { isMonotonicShared: false }],
  ])('lasts in other threads until the end of the lease, %s', (_, clocks) => {
    const { clock, extend, reader } = machine(clocks);
    extend(1000);
    clock.monotonicMs += 990;
    expect(reader().isHeld()).toBe(true);
    clock.monotonicMs += 10 + TOLERANCE_MS;
    expect(reader().isHeld()).toBe(false);
    expect(reader().reason).toBe('lease-expired');
  });

  it('says how much of the lease is left, exactly to a microsecond', () => {
    const { clock, extend, reader } = machine();
    extend(1000);
    clock.monotonicMs += 400.25;
    expect(reader().remainingMs()).toBeCloseTo(599.75, 3);
  });

  it('stays over when a late reply comes after the machine was suspended, though no thread has asked meanwhile', () => {
    const { clock, cell, extend, reader } = machine();
    extend(1000);
    clock.suspendedMs += 1500;
    cell.extendBy(() => 0); // By the session's clock, which counts the suspension, the lease of the answered heartbeat is over.
    expect(reader().remainingMs()).toBe(0);
    expect(reader().reason).toBe('lease-expired');
  });

  it('is over when the machine has been suspended for longer than the lease', () => {
    const { clock, extend, reader } = machine();
    extend(1000);
    clock.suspendedMs += 1001 + TOLERANCE_MS;
    expect(reader().isHeld()).toBe(false);
  });

  it('stays over once a thread has found the lease over, though it is extended after that', () => {
    const { clock, extend, cell, reader } = machine();
    extend(1000);
    clock.monotonicMs += 1000 + TOLERANCE_MS;
    expect(reader().isHeld()).toBe(false);
    extend(1000);
    expect([cell, reader()].map((each) => each.isHeld())).toEqual([false, false]);
    expect(cell.remainingMs()).toBe(0);
  });

  it('has the first reason for ever', () => {
    const { cell, extend, reader } = machine();
    extend(1000);
    cell.end('resigned');
    cell.end('stopped');
    expect(reader().isHeld()).toBe(false);
    expect(reader().remainingMs()).toBe(0);
    expect(reader().reason).toBe('resigned');
  });

  const REASONS: readonly EndReason[] = [
    ...(['lease-expired', 'session-expired', 'node-deleted', 'superseded', 'resigned'] as const),
    ...(['stopped', 'finished', 'revoked', 'moved', 'failed'] as const),
  ];
  it.each(REASONS)('gives other threads the reason %s', (reason) => {
    const { cell, reader } = machine();
    cell.end(reason);
    expect(reader().reason).toBe(reason);
  });

  it('knows its own memory', () => {
    expect(LeaseCell.isCell(machine().cell.memory)).toBe(true);
    expect(LeaseCell.isCell(new SharedArrayBuffer(24))).toBe(false);
    expect(LeaseCell.isCell(new SharedArrayBuffer(8))).toBe(false);
  });

  it('reads both ends, then both clocks, then the reason; it writes the up time first', () => {
    const steps: string[] = [];
    const noting = <T>(step: string, value: T) => {
      steps.push(step);
      return value;
    };
    const sources: TimeSources = {
      monotonicMs: () => noting('the monotonic clock', 5000),
      uptime: { stepMs: 10, readMs: () => noting('the up time', 5000) },
    };
    const lasting = new LeaseCell(undefined, sources);
    const ended = new LeaseCell(undefined, sources);
    const { load, compareExchange } = Atomics;
    const placeOf = (array: BigInt64Array | Int32Array, at: number) =>
      array instanceof Int32Array ? `number ${at}` : `end ${at}`;
    vi.stubGlobal('Atomics', {
      load: (array: never, at: number) => noting(placeOf(array, at), load(array, at)),
      compareExchange: (array: never, at: number, ...values: [never, never]) =>
        noting(`${placeOf(array, at)} is written`, compareExchange(array, at, ...values)),
    });
    const during = (task: () => void) => {
      steps.length = 0;
      task();
      return [...steps];
    };
    const extended = during(() => lasting.extend({ monotonicMs: 6000, uptimeMs: 6000 }));
    expect(extended).toEqual(['end 1', 'end 1 is written', 'end 0', 'end 0 is written']);
    const read = ['end 0', 'end 1', 'the monotonic clock', 'the up time'];
    expect(during(() => lasting.isHeld())).toEqual([...read, 'number 4']);
    expect(during(() => ended.isHeld())).toEqual([...read, 'number 4 is written']);
  });

  const step = fc.oneof(
    fc.record({ runMs: fc.nat(900) }),
    fc.record({ suspendMs: fc.nat(900) }),
    fc.record({ extendMs: fc.nat(1500) }),
    fc.record({ end: fc.constantFrom('resigned', 'stopped') }),
    fc.record({ ask: fc.nat(2) }),
  );
  it('holds only while the longest lease lasts by both clocks, and never again after it did not', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { clock, cell, extend, reader } = machine();
        const threads = [cell, reader(), reader()];
        let ends = { monotonic: 0, uptime: 0 };
        let isOver = false;
        for (const each of steps) {
          const now = { monotonic: clock.monotonicMs, uptime: clock.monotonicMs + clock.suspendedMs };
          if ('runMs' in each) clock.monotonicMs += each.runMs;
          else if ('suspendMs' in each) clock.suspendedMs += each.suspendMs;
          else if ('end' in each) {
            cell.end(each.end as EndReason);
            isOver = true;
          } else if ('extendMs' in each) {
            extend(each.extendMs);
            ends = {
              monotonic: Math.max(ends.monotonic, now.monotonic + each.extendMs),
              uptime: Math.max(ends.uptime, now.uptime + each.extendMs + TOLERANCE_MS),
            };
          } else {
            const leftMs = Math.min(ends.monotonic - now.monotonic, ends.uptime - now.uptime);
            isOver ||= leftMs <= 0;
            const thread = threads[each.ask] as LeaseCell;
            expect(thread.remainingMs()).toBeCloseTo(isOver ? 0 : leftMs, 3);
            expect(thread.isHeld()).toBe(!isOver);
          }
        }
      }),
    );
  });
});

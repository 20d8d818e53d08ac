import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type EndReason, LeaseCell, SharedLease } from '../../../src/lease/shared-lease.js';
import { machineInstantIn, type TimeSources } from '../../../src/platform/time/machine-instant.js';

const LEASE_MS = 1000;

function readerOf({ memory }: LeaseCell, sources: TimeSources): LeaseCell {
  return new LeaseCell(new SharedLease(memory.lease, sources), memory.end);
}

/** The machine's clocks: the up time counts suspensions too. What a lease may last longer by the up time is its step and a margin. */
function machine({ hasUptime = true, isMonotonicShared = true } = {}) {
  const clock = { monotonicMs: 5_000_000, suspendedMs: 0 };
  const uptime = { readMs: () => clock.monotonicMs + clock.suspendedMs, stepMs: 10 };
  const sources: TimeSources = {
    monotonicMs: () => clock.monotonicMs,
    isMonotonicShared,
    ...(hasUptime && { uptime }),
  };
  const lease = new SharedLease(undefined, sources);
  lease.lasts(LEASE_MS);
  const cell = new LeaseCell(lease);
  return {
    clock,
    cell,
    lease,
    /** So that the lease lasts for `ms` more. */
    extend: (ms: number) => lease.proved(machineInstantIn(() => ms - LEASE_MS, sources)),
    /** As another thread sees the cell. */
    reader: () => readerOf(cell, sources),
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

  it('stays over when a late reply comes after the machine was suspended, though no thread has asked meanwhile', () => {
    const { clock, lease, extend, reader } = machine();
    extend(1000);
    clock.suspendedMs += 1500;
    lease.provedAgo(() => 1000); // By the session's clock, which counts the suspension, the lease of the answered heartbeat is over.
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
    const { lease, end } = machine().cell.memory;
    expect(LeaseCell.isCell({ lease, end })).toBe(true);
    expect(LeaseCell.isCell({ lease: end, end: lease })).toBe(false);
    expect(LeaseCell.isCell({ lease, end: new SharedArrayBuffer(8) })).toBe(false);
  });

  it('reads when the lease began, then both clocks, how long it lasts, and then the reason; it writes the up time first', () => {
    const steps: string[] = [];
    const noting = <T>(step: string, value: T) => {
      steps.push(step);
      return value;
    };
    const sources: TimeSources = {
      monotonicMs: () => noting('the monotonic clock', 5000),
      uptime: { stepMs: 10, readMs: () => noting('the up time', 5000) },
    };
    const lease = new SharedLease(undefined, sources);
    lease.lasts(LEASE_MS);
    const lasting = new LeaseCell(lease);
    const over = new LeaseCell(new SharedLease(undefined, sources));
    const { load, compareExchange } = Atomics;
    const placeOf = (array: BigInt64Array | Int32Array, at: number) =>
      array instanceof Int32Array
        ? 'the reason'
        : (['the monotonic start', 'the start by the up time', 'the length'][at] as string);
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
    const starts = ['the monotonic start', 'the start by the up time'] as const;
    const extended = during(() => lease.proved({ monotonicMs: 5000, uptimeMs: 5000 }));
    const written = [...starts].reverse().flatMap((start) => [start, `${start} is written`]);
    expect(extended).toEqual(written);
    const read = [...starts, 'the monotonic clock', 'the up time', 'the length'];
    expect(during(() => lasting.isHeld())).toEqual([...read, 'the reason']);
    expect(during(() => over.isHeld())).toEqual([...read, 'the reason is written']);
  });

  const step = fc.oneof(
    fc.record({ runMs: fc.nat(3600).map((quarters) => quarters / 4) }),
    fc.record({ suspendMs: fc.nat(900) }),
    fc.record({ extendMs: fc.nat(1500) }),
    fc.record({ shortenMs: fc.nat(300) }),
    fc.record({ end: fc.constantFrom('resigned', 'stopped') }),
    fc.record({ ask: fc.nat(2) }),
  );
  it('holds only while the longest lease lasts by both clocks, and never again after it did not', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { clock, cell, lease, extend, reader } = machine();
        const threads = [cell, reader(), reader()];
        let ends = { monotonic: 0, uptime: 0 };
        let [isOver, lengthMs] = [false, LEASE_MS];
        for (const each of steps) {
          const now = { monotonic: clock.monotonicMs, uptime: clock.monotonicMs + clock.suspendedMs };
          if ('runMs' in each) clock.monotonicMs += each.runMs;
          else if ('suspendMs' in each) clock.suspendedMs += each.suspendMs;
          else if ('shortenMs' in each) {
            const byMs = Math.min(each.shortenMs, lengthMs);
            lengthMs -= byMs;
            lease.lasts(lengthMs);
            ends = { monotonic: ends.monotonic - byMs, uptime: ends.uptime - byMs };
          } else if ('end' in each) {
            cell.end(each.end as EndReason);
            isOver = true;
          } else if ('extendMs' in each) {
            extend(each.extendMs);
            const forMs = each.extendMs - LEASE_MS + lengthMs;
            ends = {
              monotonic: Math.max(ends.monotonic, now.monotonic + forMs),
              uptime: Math.max(ends.uptime, now.uptime + forMs + TOLERANCE_MS),
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

import { closeSync, openSync, writeFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Uptime } from '../../../../src/platform/time/uptime.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';

const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;
/** Tolerance: both clocks count in hundredths of a second, and time goes on between two readings. */
const NEAR_MS = 1000;

let folder: string;
let file: string;
beforeEach(() => {
  folder = temporaryFolder();
  file = join(folder, 'uptime');
});

function expectNow(ms: number): void {
  expect(Math.abs(ms - uptime() * 1000)).toBeLessThan(NEAR_MS);
}

/** The line that the system writes into the file. A second number follows the uptime. */
function lineOf(ms: number): string {
  return `${(ms / 1000).toFixed(2)} 123456.78\n`;
}

describe('uptime', () => {
  it('is what the system says', () => {
    expectNow(new Uptime(monotonicMs).readMs());
  });

  it('goes on from reading to reading', () => {
    const clock = new Uptime(monotonicMs);
    const first = clock.readMs();
    const until = monotonicMs() + 50;
    while (monotonicMs() < until);
    const elapsed = clock.readMs() - first;
    expect(elapsed).toBeGreaterThanOrEqual(30);
  });

  it('is read from the file, anew each time, while that is in step with the monotonic clock', () => {
    const systemMs = 5_000_120;
    writeFileSync(file, lineOf(systemMs));
    const reader = new Uptime(
      () => 0,
      file,
      () => systemMs,
    );
    expect(reader.readMs()).toBeCloseTo(systemMs, 3);
    writeFileSync(file, lineOf(systemMs + 10));
    expect(reader.readMs()).toBeCloseTo(systemMs + 10, 3);
    writeFileSync(file, lineOf(systemMs));
    expect(reader.readMs()).toBeCloseTo(systemMs, 3);
  });

  it('is what the system says after the machine was suspended', () => {
    let suspendedMs = 0;
    const clock = new Uptime(() => monotonicMs() - suspendedMs);
    clock.readMs();
    suspendedMs = 3_600_000;
    expectNow(clock.readMs());
    expectNow(clock.readMs());
  });

  it.each([
    ['rounded down', Math.floor],
    ['rounded up', Math.ceil],
  ])('is read from the file also where the system says whole seconds, %s', (_, rounded) => {
    let [monotonic, suspendedMs] = [0, 0];
    const truth = () => 5_000_430 + monotonic + suspendedMs;
    const show = () => writeFileSync(file, lineOf(truth()));
    show();
    const clock = new Uptime(
      () => monotonic,
      file,
      () => rounded(truth() / 1000) * 1000,
    );
    for (const asleepMs of [0, 700, 0, 60_000, 0]) {
      monotonic += 10;
      suspendedMs += asleepMs;
      show();
      expect(clock.readMs()).toBeCloseTo(truth(), 3);
      expect(clock.stepMs).toBe(10);
    }
  });

  it('counts as one in whole seconds until a reading has hundredths', () => {
    let systemMs = 5000;
    const clock = new Uptime(
      () => 0,
      join(folder, 'none'),
      () => systemMs,
    );
    expect([clock.readMs(), clock.stepMs]).toEqual([5000, 1000]);
    systemMs = 7000;
    expect([clock.readMs(), clock.stepMs]).toEqual([7000, 1000]);
    systemMs = 7010;
    expect([clock.readMs(), clock.stepMs]).toEqual([7010, 10]);
    systemMs = 8000;
    expect([clock.readMs(), clock.stepMs]).toEqual([8000, 10]);
  });

  it('is asked of the system where there is no such file', () => {
    expectNow(new Uptime(monotonicMs, join(folder, 'none')).readMs());
  });

  it.each(['', 'twelve', '12', '12.', '12.3', '-12.34', '12.3x', '.12', '1 2.34 5'])(
    'is asked of the system where the file says %j',
    (text) => {
      writeFileSync(file, text);
      expectNow(new Uptime(monotonicMs, file).readMs());
    },
  );

  it.each([
    ['far ahead', 3_600_000],
    ['behind', -60_000],
  ])('is asked of the system once the file is %s, and from then on', (_, offMs) => {
    writeFileSync(file, lineOf(uptime() * 1000));
    const clock = new Uptime(monotonicMs, file);
    clock.readMs();
    writeFileSync(file, lineOf(uptime() * 1000 + offMs));
    expectNow(clock.readMs());
    expectNow(clock.readMs());
  });

  it('is asked of the system when the file stands still, also where the machine was suspended before', () => {
    let suspendedMs = 0;
    writeFileSync(file, lineOf(uptime() * 1000));
    const clock = new Uptime(() => monotonicMs() - suspendedMs, file);
    suspendedMs = 3_600_000;
    clock.readMs();
    writeFileSync(file, lineOf(uptime() * 1000 - 60_000));
    expectNow(clock.readMs());
  });

  it('is asked of the system once other code has closed its descriptor', () => {
    const before = openSync(folder, 'r');
    closeSync(before);
    const clock = new Uptime(monotonicMs);
    closeSync(before); // The system gives the lowest free number to the next file that is opened.
    expectNow(clock.readMs());
    expectNow(clock.readMs());
  });
});

import { openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';

const FILE = '/proc/uptime';
const [STEP_MS, COARSE_STEP_MS] = [10, 1000];
// The system may give whole seconds, rounded down, or up as Bun and Deno do.
const TOLERANCE_MS = COARSE_STEP_MS + 2 * STEP_MS;
const LONGEST_LINE_BYTES = 64;
const [DOT, ZERO] = [0x2e, 0x30];

/**
 * The machine's uptime; `undefined` on systems that need none. On macOS and Windows the monotonic clock itself counts the time for
 * which the machine was suspended (libuv reads `mach_continuous_time` and the performance counter). On other systems than these
 * and Linux `os.uptime` knows no more than the monotonic clock.
 */
export function systemUptime(monotonicMs: () => number): Uptime | undefined {
  return process.platform === 'linux' ? new Uptime(monotonicMs) : undefined;
}

/**
 * How long a Linux machine has been up, including the time for which it was suspended. It is read from a file that stays open,
 * because `os.uptime` opens the file each time, which takes three times as long.
 *
 * `os.uptime` is used if the file can't be read: in a chroot, or in a service with systemd's `ProcSubset=pid`. It then counts
 * whole seconds. Otherwise it only confirms readings that differ from the monotonic clock. Then the machine was suspended, or
 * other code closed the descriptor by mistake and it belongs to another file now.
 */
export class Uptime {
  readonly #monotonicMs: () => number;
  readonly #systemMs: () => number;
  readonly #line = Buffer.alloc(LONGEST_LINE_BYTES);
  /** How far the last uptime of the system was ahead of the monotonic clock. */
  #aheadMs: number;
  #descriptor: number | undefined;
  #hasHundredths = false;

  /** @param systemMs - the uptime as the system says it, in milliseconds */
  constructor(monotonicMs: () => number, file = FILE, systemMs = () => uptime() * 1000) {
    this.#monotonicMs = monotonicMs;
    this.#systemMs = systemMs;
    this.#aheadMs = systemMs() - monotonicMs();
    try {
      this.#descriptor = openSync(file, 'r');
    } catch {
      // The file doesn't exist or may not be read.
    }
  }

  /**
   * The steps in which it counts, in milliseconds: a reading may be that much less than the truth. They count as whole seconds
   * until a reading has shown that they are finer, because the file itself may have whole seconds in a container.
   */
  get stepMs(): number {
    return this.#hasHundredths ? STEP_MS : COARSE_STEP_MS;
  }

  /** The uptime in milliseconds, never more than a step ahead of the truth. */
  readMs(): number {
    const ms = this.#read();
    this.#hasHundredths ||= Math.round(ms) % COARSE_STEP_MS !== 0;
    return ms;
  }

  #read(): number {
    if (this.#descriptor === undefined) return this.#systemMs();
    // Computed before the reading, because this process may be stopped in between.
    const expectedMs = this.#monotonicMs() + this.#aheadMs;
    const ms = this.#readFrom(this.#descriptor);
    return Math.abs(ms - expectedMs) <= TOLERANCE_MS ? ms : this.#confirmed(ms);
  }

  /** Asks the system. If it doesn't confirm `ms`, the file isn't read any more. */
  #confirmed(ms: number): number {
    const sureMs = this.#systemMs();
    // The uptime only gets further ahead. A pause at this point makes it seem less far ahead.
    this.#aheadMs = Math.max(this.#aheadMs, sureMs - this.#monotonicMs());
    if (Math.abs(sureMs - ms) <= TOLERANCE_MS) return ms;
    this.#descriptor = undefined; // It isn't closed, because it may belong to another file by now.
    return sureMs;
  }

  /** The file's content in milliseconds; NaN if the descriptor no longer belongs to an uptime file. */
  #readFrom(descriptor: number): number {
    try {
      const bytes = readSync(descriptor, this.#line, 0, LONGEST_LINE_BYTES, 0);
      return hundredthsOf(this.#line, bytes) * 10;
    } catch {
      return Number.NaN;
    }
  }
}

/** The number with two decimals at the beginning of the line, in hundredths; NaN if there is none. */
function hundredthsOf(line: Buffer, length: number): number {
  const dot = line.indexOf(DOT);
  if (dot < 1 || dot + 2 >= length) return Number.NaN;
  let hundredths = 0;
  for (let at = 0; at <= dot + 2; at++) {
    if (at === dot) continue;
    const digit = (line[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    hundredths = hundredths * 10 + digit;
  }
  return hundredths;
}

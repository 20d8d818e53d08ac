import { openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';

// The file has hundredths of a second, and each of two readings may be that much older than it seems.
const GRANULARITY_MS = 20;
const FILE = process.platform === 'linux' ? '/proc/uptime' : undefined;
const LONGEST_LINE_BYTES = 64;
const [DOT, ZERO] = [0x2e, 0x30];

/**
 * How long the machine has been up, including the time for which it was suspended. It is read from a file that stays open,
 * because `os.uptime` opens the file each time, which takes three times as long.
 *
 * `os.uptime` is used if there is no such file, as on other systems than Linux. It is also used whenever a reading differs from
 * the monotonic clock. Then the machine was suspended, or other code closed the descriptor by mistake and it belongs to another
 * file now.
 */
export class Uptime {
  readonly #monotonicMs: () => number;
  readonly #line = Buffer.alloc(LONGEST_LINE_BYTES);
  /** How far the last uptime of the system was ahead of the monotonic clock. */
  #aheadMs: number;
  #descriptor: number | undefined;

  constructor(monotonicMs: () => number, file = FILE) {
    this.#monotonicMs = monotonicMs;
    this.#aheadMs = uptime() * 1000 - monotonicMs();
    try {
      if (file !== undefined) this.#descriptor = openSync(file, 'r');
    } catch {
      // The file doesn't exist or may not be read.
    }
  }

  /** The uptime in milliseconds, in steps of ten. */
  readMs(): number {
    if (this.#descriptor === undefined) return uptime() * 1000;
    // Computed before the reading, because this process may be stopped in between.
    const expectedMs = this.#monotonicMs() + this.#aheadMs;
    const ms = this.#readFrom(this.#descriptor);
    return Math.abs(ms - expectedMs) <= GRANULARITY_MS ? ms : this.#confirmed(ms);
  }

  /** The uptime by `os.uptime`. If `ms` differs from it, the file isn't read any more. */
  #confirmed(ms: number): number {
    const sureMs = uptime() * 1000;
    // The uptime only gets further ahead. A pause at this point makes it seem less far ahead.
    this.#aheadMs = Math.max(this.#aheadMs, sureMs - this.#monotonicMs());
    // The descriptor isn't closed, because it may belong to another file by now.
    if (!(Math.abs(sureMs - ms) <= GRANULARITY_MS)) this.#descriptor = undefined;
    return sureMs;
  }

  /** The file's content in milliseconds; NaN if the descriptor doesn't belong to an uptime file any more. */
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

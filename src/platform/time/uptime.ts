import { openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';

// Hundredths of a second, and each of two readings may be that much older than it seems.
const GRANULARITY_MS = 20;
const FILE = process.platform === 'linux' ? '/proc/uptime' : undefined;
const LONGEST_LINE_BYTES = 64;
const [DOT, ZERO] = [0x2e, 0x30];

/**
 * How long the machine has been up, including the time that it was suspended. Read from a file that stays open. Its gain:
 * `os.uptime` opens the file each time, which takes three times as long. `os.uptime` is used where there is no such file, as on
 * other systems than Linux, and whenever a reading differs from the monotonic clock: then the machine was suspended, or other
 * code closed the descriptor by mistake, and it is another file's now.
 */
export class Uptime {
  readonly #monotonicMs: () => number;
  readonly #line = Buffer.alloc(LONGEST_LINE_BYTES);
  /** How far the system's last uptime was ahead of the monotonic clock. */
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

  /** In milliseconds, in steps of ten. */
  readMs(): number {
    if (this.#descriptor === undefined) return uptime() * 1000;
    // Computed before the reading: this process may be stopped in between.
    const expectedMs = this.#monotonicMs() + this.#aheadMs;
    const ms = this.#readFrom(this.#descriptor);
    return Math.abs(ms - expectedMs) <= GRANULARITY_MS ? ms : this.#confirmed(ms);
  }

  /** The system's uptime. If `ms` differs from it, the file isn't read any more. */
  #confirmed(ms: number): number {
    const sureMs = uptime() * 1000;
    // The uptime only gets further ahead; a pause right here makes it seem less far.
    this.#aheadMs = Math.max(this.#aheadMs, sureMs - this.#monotonicMs());
    // Not closed: it may be another file's by now.
    if (!(Math.abs(sureMs - ms) <= GRANULARITY_MS)) this.#descriptor = undefined;
    return sureMs;
  }

  /** Not a number if the descriptor isn't that of an uptime file any more. */
  #readFrom(descriptor: number): number {
    try {
      const bytes = readSync(descriptor, this.#line, 0, LONGEST_LINE_BYTES, 0);
      return hundredthsOf(this.#line, bytes) * 10;
    } catch {
      return Number.NaN;
    }
  }
}

/** The hundredths of the number with two decimals that the line begins with; not a number if it doesn't. */
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

import { openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';

// Hundredths of a second, and each of two readings may be that much older than it seems.
const GRANULARITY_MS = 20;
const FILE = process.platform === 'linux' ? '/proc/uptime' : undefined;
const LONGEST_LINE_BYTES = 64;
const [DOT, ZERO] = [0x2e, 0x30];

/**
 * For how long the machine has been up, the time that it was suspended included.
 *
 * `os.uptime` opens a file each time, which takes three times as long as reading one that is open. It is asked where there
 * is no such file, as on other systems than Linux, and whenever a reading isn't in step with the monotonic clock: then the
 * machine was suspended, or the descriptor was closed by somebody else, by mistake, and is another file's now.
 */
export class Uptime {
  readonly #monotonicMs: () => number;
  readonly #line = Buffer.alloc(LONGEST_LINE_BYTES);
  /** How far it is ahead of the monotonic clock, as the system said last. */
  #aheadMs: number;
  #descriptor: number | undefined;

  constructor(monotonicMs: () => number, file = FILE) {
    this.#monotonicMs = monotonicMs;
    this.#aheadMs = uptime() * 1000 - monotonicMs();
    try {
      if (file !== undefined) this.#descriptor = openSync(file, 'r');
    } catch {
      // It isn't there, or may not be read.
    }
  }

  /** In milliseconds, in steps of ten. */
  readMs(): number {
    if (this.#descriptor === undefined) return uptime() * 1000;
    // Before it is read: this process may be made to stand still in between.
    const expectedMs = this.#monotonicMs() + this.#aheadMs;
    const ms = this.#readFrom(this.#descriptor);
    return Math.abs(ms - expectedMs) <= GRANULARITY_MS ? ms : this.#confirmed(ms);
  }

  /** The system's own word, and from now on that instead of `ms` if they don't agree. */
  #confirmed(ms: number): number {
    const sureMs = uptime() * 1000;
    // It only gets further ahead; a pause right here makes it seem less far.
    this.#aheadMs = Math.max(this.#aheadMs, sureMs - this.#monotonicMs());
    // Not closed: it may be somebody else's.
    if (!(Math.abs(sureMs - ms) <= GRANULARITY_MS)) this.#descriptor = undefined;
    return sureMs;
  }

  /** Not a number if it isn't there any more, or isn't what it was. */
  #readFrom(descriptor: number): number {
    try {
      const bytes = readSync(descriptor, this.#line, 0, LONGEST_LINE_BYTES, 0);
      return hundredthsOf(this.#line, bytes) * 10;
    } catch {
      return Number.NaN;
    }
  }
}

/** Of a line that begins with a number with two decimals, the hundredths; not a number if it doesn't. */
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

import { exponentialPauseMs } from '../../platform/retry/backoff.js';

const FIRST_MS = 2;
const LONGEST_MS = 1000;
const FACTOR = 1.1;

/**
 * How long to wait before the `poll`th look (from 1) whether processes are gone that aren't children of this one: no event reports their
 * end. Each look reads the whole process table, and some processes don't die for hours, in the kernel say. So each pause is a tenth longer
 * than the one before: the end is seen about a tenth later than it came, and by a second at most.
 */
export function pauseBeforePollMs(poll: number): number {
  return exponentialPauseMs(poll, FIRST_MS, LONGEST_MS, FACTOR);
}

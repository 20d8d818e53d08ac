import type { Abortable } from '../../platform/async/lazy-abort.js';
import type { Clock } from '../../platform/time/clock.js';
import { onOutputClosed } from './closed-output.js';
import { untilSignal } from './signals.js';

/**
 * Calls `stop` at a signal to stop, and when no process reads standard output any more, unless `signal` has aborted. It may be called more than
 * once. Resolves when the reader has been looked for: write nothing before.
 */
export async function whenStopAsked(clock: Clock, signal: Abortable, stop: () => void): Promise<void> {
  void untilSignal().then(stop);
  process.stdout.once('error', stop); // EPIPE: the reader has closed the pipe.
  // EPIPE comes with the next line only, perhaps in a week.
  await onOutputClosed(process.stdout.fd, clock, signal, stop);
}

import type { Abortable } from '../../platform/async/lazy-abort.js';
import type { Clock } from '../../platform/time/clock.js';
import { onOutputClosed } from './closed-output.js';
import { untilSignal } from './signals.js';

/**
 * Calls `stop` at a signal to stop, and when no process reads standard output any more, unless `signal` has aborted. `stop` may be called
 * more than once. Resolves when this function has looked for the reader: write nothing before.
 */
export async function whenStopAsked(clock: Clock, signal: Abortable, stop: () => void): Promise<void> {
  void untilSignal().then(stop);
  process.stdout.once('error', stop); // EPIPE: the reader has closed the pipe.
  // EPIPE comes only with the next line, which may be a week away.
  await onOutputClosed(process.stdout.fd, clock, signal, stop);
}

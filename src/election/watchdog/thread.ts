import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { monotonicNs } from '../../platform/time/timers.js';
import { IDLE, STOP } from './deadline.js';

/** Runs in its own thread, see `Watchdog`. It sleeps until the deadline, which the main thread extends. */
const shared = workerData as BigInt64Array;

for (;;) {
  const deadline = Atomics.load(shared, 0);
  if (deadline === STOP) break;
  const leftMs = deadline === IDLE ? Number.POSITIVE_INFINITY : Number(deadline - monotonicNs()) / 1e6;
  if (leftMs <= 0) {
    // Writes synchronously, because the main thread, which prints the output of workers, is blocked.
    writeSync(2, 'conclave: the main thread was blocked past the end of its lease: ending the process\n');
    process.kill(process.pid, 'SIGKILL');
  }
  Atomics.wait(shared, 0, deadline, leftMs <= 0 ? 1000 : leftMs);
}

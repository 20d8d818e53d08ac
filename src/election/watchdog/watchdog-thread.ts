import { write } from 'node:fs';
import { Socket } from 'node:net';
import { workerData } from 'node:worker_threads';
import { setTimeout } from '../../platform/time/timers.js';
import { type DeadlineMemory, SharedDeadline } from './shared-deadline.js';

const STDERR = 2; // The descriptor, because the main thread, which is blocked, prints what a worker writes to its stream.
const MESSAGE = 'conclave: the main thread was blocked past the end of its lease: ending the process\n';
const WRITE_WITHIN_MS = 100; // A busy machine needs some of it to wake the thread that writes.

/** Ends the process. Standard error gets the message if it takes it now, or within {@link WRITE_WITHIN_MS}. */
function endProcess(): void {
  if (writesAtOnce()) return kill();
  // Another thread writes, so that this one can't hang.
  setTimeout(kill, WRITE_WITHIN_MS);
  write(STDERR, MESSAGE, kill);
}

/** Writes the message, unless that may hang. `false`: it may. */
function writesAtOnce(): boolean {
  if ('bun' in process.versions) return false; // Its streams hang on a full pipe.
  try {
    // The stream makes a pipe or a socket non-blocking. It refuses files and terminals, which it can't make so.
    new Socket({ fd: STDERR, readable: false, writable: true }).write(MESSAGE);
    return true;
  } catch {
    return false;
  }
}

function kill(): void {
  process.kill(process.pid, 'SIGKILL');
}

// Runs in its own thread, see `Watchdog`. It sleeps until the deadline, which the main thread extends.
if (new SharedDeadline(workerData as DeadlineMemory).wait()) endProcess();

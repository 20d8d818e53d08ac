import { setImmediate } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Keeps this thread busy. @param {number} ms */
export function block(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/**
 * Computes in pieces. Between two of them heartbeats are sent, and their replies are read.
 *
 * @param {number} ms
 * @param {import('conclave').Term} term
 */
export async function inPieces(ms, term) {
  for (let left = ms; left > 0 && term.isHeld(); left -= 50) {
    block(50);
    await setImmediate();
  }
}

/**
 * Computes in a thread of its own, which ends with the term.
 *
 * @param {number} ms
 * @param {import('conclave').Term} term
 */
export async function inThread(ms, term) {
  const worker = new Worker(new URL(import.meta.url), { workerData: ms });
  const stop = () => worker.terminate();
  term.signal.addEventListener('abort', stop, { once: true });
  await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject));
}

if (!isMainThread && parentPort) block(workerData);

import { writeSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { heldTerm } from 'conclave/held-term';

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
 * Computes in a thread of its own, which stops when the term is over.
 *
 * @param {number} ms
 * @param {import('conclave').Term} term
 */
export async function inThread(ms, term) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { ms, handle: term.handle() } });
  await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject));
}

if (!isMainThread && parentPort) {
  const { ms, handle } = workerData;
  const term = heldTerm(handle);
  let left = ms;
  for (; left > 0 && term.isHeld(); left -= 50) block(50); // Ask right before each act, and give `term.token` to what you write to.
  if (left > 0) writeSync(1, `       the thread of A stops: term ${term.number} is over\n`);
}

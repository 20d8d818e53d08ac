/** Runs in a worker thread: says what it sees of the term whose handle it was given, once for each message. */
import { parentPort, workerData } from 'node:worker_threads';
import { heldTerm, TermEndedError } from 'conclave/held-term';

const term = heldTerm(workerData);
parentPort?.on('message', () => {
  try {
    term.assertHeld();
    parentPort?.postMessage(`a thread: term ${term.number} is held`);
  } catch (error) {
    const isRight = error instanceof TermEndedError && !term.isHeld();
    parentPort?.postMessage(
      `a thread: ${error instanceof Error && error.message}, a TermEndedError: ${isRight}`,
    );
    parentPort?.close();
  }
});

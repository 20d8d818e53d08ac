/**
 * The thread of the connections, in which the run causes failures. It does what the thread of Conclave does, and fails when it is told to.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { block } from './block.js';
import { History } from './history.js';

export interface ConnectionThreadData {
  readonly who: string;
  readonly historyPath: string;
}

/** How the thread fails. */
export type Failure = 'hangs' | 'throws' | 'exits';

/** From the worker's main thread, beside the messages of Conclave, which the thread of Conclave leaves alone. */
export interface FailMessage {
  readonly kind: 'fail';
  readonly how: Failure;
  readonly afterMs: number;
  /** How long it hangs. */
  readonly forMs: number;
}

const port = parentPort;
if (port === null) throw new Error('this is a program for a thread');
const { who, historyPath } = workerData as ConnectionThreadData;
const history = new History(historyPath);

function fail({ how, forMs }: FailMessage): void {
  history.write({ kind: 'thread fails', who, how });
  if (how === 'hangs') block(forMs, 'waits');
  if (how === 'throws') throw new Error('a fault of the run');
  if (how === 'exits') process.exit(1);
}

// First, because a message without a listener of Conclave's would be lost.
await import('../../../src/session/connection-thread/thread-main.js');
port.on('message', (message: FailMessage) => {
  if (message.kind === 'fail') setTimeout(() => fail(message), message.afterMs);
});

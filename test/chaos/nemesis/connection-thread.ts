/**
 * The thread of the connections, in which the run causes failures. It does what the thread of Conclave does, writes down when another connection
 * stands in for a lost one, and fails when it is told to.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { FromThread } from '../../../src/session/connection-thread/messages.js';
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

/** The connections that show their session to another server, and haven't been answered yet. */
const standingIn = new Set<number>();
const { postMessage } = port;
port.postMessage = (message: FromThread, ...rest: []) => {
  if (message.kind === 'stands-in' && !standingIn.has(message.id)) {
    standingIn.add(message.id);
    history.write({ kind: 'stand-in begins', who });
  }
  if (message.kind === 'repeated' && message.answer.versions.length > 0 && standingIn.delete(message.id))
    history.write({ kind: 'stand-in proves', who });
  if (message.kind === 'closed') standingIn.delete(message.id);
  postMessage.call(port, message, ...rest);
};

function fail({ how, forMs }: FailMessage): void {
  history.write({ kind: 'thread fails', who, how });
  if (how === 'hangs') block(forMs, 'waits');
  if (how === 'throws') throw new Error('a fault of the run');
  if (how === 'exits') process.exit(1);
}

// First, because a message without a listener of Conclave's would be lost.
await import('../../../src/session/connection-thread/thread.js');
port.on('message', (message: FailMessage) => {
  if (message.kind === 'fail') setTimeout(() => fail(message), message.afterMs);
});

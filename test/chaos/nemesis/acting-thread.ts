/**
 * A thread of a worker that acts for the terms of its process by their handles, whatever the main thread does. Its acts are in the history as acts
 * of the process.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { TermHandle } from '../../../src/lease/term-handle.js';
import type { Actor } from './acting.js';
import { actByHandle } from './acting-by-handle.js';
import { History } from './history.js';
import { SinkClient } from './sink-client.js';

/** What the thread knows from its beginning. */
export interface ActingThreadData {
  readonly who: string;
  readonly historyPath: string;
  readonly sinkPath: string;
  /** It doesn't ask whether a term is held, and acts until the main thread says that the term has ended. That is wrong. */
  readonly isCareless: boolean;
}

/** From the main thread. */
export type ToActingThread =
  | {
      readonly kind: 'act';
      readonly journal: string;
      readonly handle: TermHandle;
      readonly everyMs: number;
    }
  | { readonly kind: 'ended'; readonly journal: string; readonly token: bigint };

const { who, historyPath, sinkPath, isCareless } = workerData as ActingThreadData;
const history = new History(historyPath);
const sink = await SinkClient.open(sinkPath);
const ended = new Set<string>();
let writes = 0;

async function act({ journal, handle, everyMs }: ToActingThread & { kind: 'act' }): Promise<void> {
  const key = `${journal} ${handle.token}`;
  const nextWrite = () => `${who}-thread-${++writes}`;
  const actor: Actor = { who, journal, history, sink, hand: 'thread', onAct: () => undefined, nextWrite };
  await actByHandle(actor, handle, everyMs, isCareless ? () => ended.has(key) : undefined);
  ended.delete(key);
}

parentPort?.on('message', (message: ToActingThread) => {
  if (message.kind === 'act') void act(message);
  else ended.add(`${message.journal} ${message.token}`);
});

/**
 * A thread of a worker that acts for the terms of its process by their handles, whatever the main thread does. Its acts are in the history as acts
 * of the process.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { heldTerm, type TermHandle } from '../../../src/lease/term-handle.js';
import { Acting } from './acting.js';
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

/** After the first `false` it goes on to ask, because the answer must never be `true` again. */
const ASKS_AGAIN = 50;

const { who, historyPath, sinkPath, isCareless } = workerData as ActingThreadData;
const history = new History(historyPath);
const sink = await SinkClient.open(sinkPath);
const ended = new Set<string>();
let writes = 0;

async function act({ journal, handle, everyMs }: ToActingThread & { kind: 'act' }): Promise<void> {
  const { token } = handle;
  const term = heldTerm(handle);
  const key = `${journal} ${token}`;
  const held = isCareless ? { token, isHeld: () => !ended.has(key) } : term;
  const acting = await Acting.begin(
    {
      ...{ who, journal, history, sink, hand: 'thread' },
      onAct: () => undefined,
      nextWrite: () => `${who}-thread-${++writes}`,
    },
    held,
  );
  while (await acting?.act()) await pause(everyMs);
  for (let left = ASKS_AGAIN; left > 0 && !isCareless; left--) {
    acting?.ask();
    await pause(everyMs);
  }
  ended.delete(key);
}

parentPort?.on('message', (message: ToActingThread) => {
  if (message.kind === 'act') void act(message);
  else ended.add(`${message.journal} ${message.token}`);
});

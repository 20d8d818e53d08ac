import { deferred, ignore, settledWithin } from '../../platform/async/promises.js';
import type { Clock } from '../../platform/time/clock.js';
import type { Snapshot } from '../model/series.js';
import { decodeAnswer, encodeRequest } from './metrics-messages.js';

/** The part of a child process that {@link askWorkers} uses. */
export interface WorkerChannel {
  readonly connected: boolean;
  send(message: object, callback: (error: Error | null) => void): boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'disconnect', listener: () => void): unknown;
  off(event: 'message', listener: (message: unknown) => void): unknown;
  off(event: 'disconnect', listener: () => void): unknown;
}

export interface WorkerMetrics {
  readonly answers: readonly { readonly slot: number; readonly snapshot: Snapshot }[];
  readonly unanswered: number;
}

let requests = 0;

/** Asks all workers at the same time. Takes no longer than `timeoutMs`; never rejects. */
export async function askWorkers(
  workers: readonly { readonly slot: number; readonly child: WorkerChannel }[],
  clock: Clock,
  timeoutMs: number,
): Promise<WorkerMetrics> {
  const asked = await Promise.all(
    workers.map(async ({ slot, child }) => ({ slot, snapshot: await ask(child, clock, timeoutMs) })),
  );
  const answers = asked.flatMap(({ slot, snapshot }) => (snapshot === undefined ? [] : [{ slot, snapshot }]));
  return { answers, unanswered: workers.length - answers.length };
}

async function ask(child: WorkerChannel, clock: Clock, timeoutMs: number): Promise<Snapshot | undefined> {
  if (!child.connected) return undefined;
  const request = ++requests;
  const done = deferred();
  let snapshot: Snapshot | undefined;
  const onMessage = (message: unknown) => {
    const answer = decodeAnswer(message);
    if (answer?.request !== request) return;
    snapshot = answer.snapshot;
    done.resolve();
  };
  child.on('message', onMessage);
  child.on('disconnect', done.resolve);
  try {
    child.send(encodeRequest(request), ignore); // If sending fails, `disconnect` or the timeout ends the wait.
    await settledWithin(clock, done.promise, timeoutMs);
  } finally {
    child.off('message', onMessage);
    child.off('disconnect', done.resolve);
  }
  return snapshot;
}

import { listenToGuardians, type ParentChannel } from '../../cluster/dead-children/register-with-guardian.js';
import { deferred, ignore, settledWithin } from '../../platform/async/promises.js';
import type { Clock } from '../../platform/time/clock.js';
import {
  type HistogramValue,
  type Labels,
  type MetricsSnapshot,
  merged,
  type Series,
} from '../model/measurements.js';
import { FAMILIES, isFamilyName } from '../model/metric-families.js';

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
  readonly answers: readonly { readonly slot: number; readonly snapshot: MetricsSnapshot }[];
  readonly unanswered: number;
}

/** Prometheus waits for 10 s, or less if told so, and a worker answers within milliseconds unless its event loop is blocked. */
const TIMEOUT_MS = 1000;
let requests = 0;

/** Asks all workers at the same time. Takes no longer than a second; never rejects. */
export async function askWorkers(
  workers: readonly { readonly slot: number; readonly child: WorkerChannel }[],
  clock: Clock,
): Promise<WorkerMetrics> {
  const asked = await Promise.all(
    workers.map(async ({ slot, child }) => ({ slot, snapshot: await ask(child, clock) })),
  );
  const answers = asked.flatMap(({ slot, snapshot }) => (snapshot === undefined ? [] : [{ slot, snapshot }]));
  return { answers, unanswered: workers.length - answers.length };
}

async function ask(child: WorkerChannel, clock: Clock): Promise<MetricsSnapshot | undefined> {
  if (!child.connected) return undefined;
  const request = ++requests;
  const done = deferred();
  let snapshot: MetricsSnapshot | undefined;
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
    await settledWithin(clock, done.promise, TIMEOUT_MS);
  } finally {
    child.off('message', onMessage);
    child.off('disconnect', done.resolve);
  }
  return snapshot;
}

/** Has metrics for the responder. */
export interface Measured {
  /** The metrics that this process has measured itself. Never rejects. */
  own(): Promise<MetricsSnapshot>;
}

/** Sends the metrics of this process to the parent process when the parent asks for them. */
export class Responder {
  readonly #channel: ParentChannel;
  readonly #measured = new Set<Measured>();
  readonly #alsoListen: () => () => void;
  #unlisten = ignore;

  /** @param alsoListen - begins the other listeners of Conclave, and returns what ends them */
  constructor(channel: ParentChannel, alsoListen: () => () => void) {
    this.#channel = channel;
    this.#alsoListen = alsoListen;
  }

  /** From now on the answers contain these metrics. */
  add(measured: Measured): void {
    if (this.#channel.send === undefined) return; // There is no parent that could ask.
    // Listens only while there are metrics, because a listener for messages keeps a forked process alive.
    if (this.#measured.size === 0) {
      this.#unlisten = this.#alsoListen();
      this.#channel.on('message', this.#onMessage);
    }
    this.#measured.add(measured);
  }

  remove(measured: Measured): void {
    if (!this.#measured.delete(measured) || this.#measured.size > 0) return;
    this.#channel.off('message', this.#onMessage);
    this.#unlisten();
  }

  readonly #onMessage = (message: unknown): void => {
    const request = decodeRequest(message);
    if (request !== undefined) void this.#answer(request); // Never rejects.
  };

  async #answer(request: number): Promise<void> {
    const snapshot = merged(await Promise.all([...this.#measured].map((each) => each.own())));
    if (this.#channel.connected) this.#channel.send?.(encodeAnswer({ request, snapshot }), ignore);
  }
}

/** The responder of this process. */
export const responder = new Responder(process as ParentChannel, listenToGuardians);

/**
 * The messages by which the parent of workers asks for their metrics, over the channel between a parent and its child. Like a
 * guardian's messages they are in one property, so they don't interfere with a guardian's or the application's messages. A process
 * that doesn't know them ignores them.
 */

const PROPERTY = 'conclave';
const FORMAT = 1;
const REQUEST = 'metrics';
const ANSWER = 'metrics';

/** A worker's metrics, in answer to the request with that number. */
export interface MetricsAnswer {
  readonly request: number;
  readonly snapshot: MetricsSnapshot;
}

export function encodeRequest(request: number): object {
  return { [PROPERTY]: { format: FORMAT, word: REQUEST, request } };
}

/** The number of the request; `undefined` if the message isn't a request. */
export function decodeRequest(message: unknown): number | undefined {
  const content = contentOf(message);
  return content?.word === REQUEST && isWhole(content.request) ? content.request : undefined;
}

export function encodeAnswer({ request, snapshot }: MetricsAnswer): object {
  return { [PROPERTY]: { format: FORMAT, kind: ANSWER, request, families: Object.fromEntries(snapshot) } };
}

/** The answer without its unreadable parts, because a worker may have another version; `undefined` if the message isn't one. */
export function decodeAnswer(message: unknown): MetricsAnswer | undefined {
  const content = contentOf(message);
  if (content?.kind !== ANSWER || !isWhole(content.request)) return undefined;
  const snapshot = new Map<keyof typeof FAMILIES, Series[]>();
  for (const [name, series] of Object.entries(recordOf(content.families) ?? {})) {
    if (!isFamilyName(name) || !Array.isArray(series)) continue;
    const { labels, buckets } = FAMILIES[name];
    const read = series.flatMap((each: unknown) => decodeSeries(each, labels, buckets) ?? []);
    if (read.length > 0) snapshot.set(name, read);
  }
  return { request: content.request, snapshot };
}

function decodeSeries(
  value: unknown,
  known: readonly string[],
  buckets: readonly number[] | undefined,
): Series | undefined {
  const { labels: given, value: of } = recordOf(value) ?? {};
  const labels = decodeLabels(given, known);
  if (labels === undefined) return undefined;
  if (buckets === undefined) return isNumber(of) ? { labels, value: of } : undefined;
  const histogram = decodeHistogram(of, buckets);
  return histogram && { labels, value: histogram };
}

function decodeLabels(value: unknown, known: readonly string[]): Labels | undefined {
  const labels = recordOf(value);
  if (labels === undefined) return undefined;
  const areKnown = Object.entries(labels).every(
    ([name, of]) => known.includes(name) && typeof of === 'string',
  );
  return areKnown ? (labels as Labels) : undefined;
}

function decodeHistogram(value: unknown, buckets: readonly number[]): HistogramValue | undefined {
  const { counts, sum } = recordOf(value) ?? {};
  if (!Array.isArray(counts) || counts.length !== buckets.length + 1 || !counts.every(isWhole))
    return undefined;
  return isNumber(sum) ? { counts, sum } : undefined;
}

function contentOf(message: unknown): Record<string, unknown> | undefined {
  const content = recordOf(recordOf(message)?.[PROPERTY]);
  return content?.format === FORMAT ? content : undefined;
}

function recordOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

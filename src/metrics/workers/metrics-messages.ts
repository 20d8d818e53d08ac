import { FAMILIES, isFamilyName } from '../model/families.js';
import type { HistogramValue, Labels, Series, Snapshot } from '../model/series.js';

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
  readonly snapshot: Snapshot;
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

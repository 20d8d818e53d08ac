import { FAMILIES, FAMILY_NAMES, type Family, type FamilyName } from './metric-families.js';

export type Labels = Readonly<Record<string, string>>;

/** Gets each value of a histogram, in seconds. Must not throw. */
export type Observed = (name: FamilyName, labels: Labels, value: number) => void;

/** Values of gauges. `undefined`: there is none now. */
export type Gauges = { readonly [Name in FamilyName]?: number | undefined };

/** The values of a histogram. */
export interface HistogramValue {
  /** How many values each bucket has, not cumulative. The last number counts the values above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** One value of a metric, with its labels. */
export interface Series {
  readonly labels: Labels;
  readonly value: number | HistogramValue;
}

/** The metrics of one source, or of all sources, at one moment. */
export type MetricsSnapshot = ReadonlyMap<FamilyName, readonly Series[]>;
export type WritableSnapshot = Map<FamilyName, readonly Series[]>;

/** A key for labels. The order of the labels doesn't matter. */
export function keyOf(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * All series of the snapshots, in the table's order. A registry would refuse two series with the same labels, so this makes one of
 * them. Counters and histograms are added up. A gauge's value comes from the later snapshot, because a source that replaces another
 * one comes after it. A family's `merge` may say otherwise.
 */
export function merged(snapshots: Iterable<MetricsSnapshot>): MetricsSnapshot {
  const all = [...snapshots];
  const result = new Map<FamilyName, readonly Series[]>();
  for (const name of FAMILY_NAMES) {
    const byLabels = new Map<string, Series>();
    for (const series of all.flatMap((each) => each.get(name) ?? [])) {
      const key = keyOf(series.labels);
      const before = byLabels.get(key);
      byLabels.set(key, before === undefined ? series : combined(FAMILIES[name], before, series));
    }
    if (byLabels.size > 0) result.set(name, [...byLabels.values()]);
  }
  return result;
}

/** Adds a label to each series. */
export function withLabel(snapshot: MetricsSnapshot, label: string, value: string): MetricsSnapshot {
  const labelled = ({ labels, value: of }: Series): Series => ({
    labels: { ...labels, [label]: value },
    value: of,
  });
  return new Map([...snapshot].map(([name, all]) => [name, all.map(labelled)]));
}

/** A number that exporters show. A histogram has several, whose names have endings. */
export interface Sample {
  readonly ending: '' | '_bucket' | '_sum' | '_count';
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/** The samples of a series. A histogram's buckets are cumulative. */
export function samplesOf(name: FamilyName, { labels, value }: Series): Sample[] {
  if (typeof value === 'number') return [{ ending: '', labels, value }];
  const bounds = [...(FAMILIES[name].buckets ?? []), '+Inf'];
  let count = 0;
  const buckets = bounds.map((le, index): Sample => {
    count += value.counts[index] ?? 0;
    return { ending: '_bucket', labels: { ...labels, le }, value: count };
  });
  return [
    ...buckets,
    { ending: '_sum', labels, value: value.sum },
    { ending: '_count', labels, value: count },
  ];
}

function combined(family: Family, before: Series, after: Series): Series {
  const { merge = family.type === 'gauge' ? 'last' : 'sum' } = family;
  const { labels } = before;
  if (merge === 'last') return after;
  if (typeof before.value === 'number' && typeof after.value === 'number') {
    const [a, b] = [before.value, after.value];
    return { labels, value: merge === 'max' ? Math.max(a, b) : a + b };
  }
  if (typeof before.value === 'number' || typeof after.value === 'number') return after;
  const [a, b] = [before.value, after.value];
  const counts = a.counts.map((count, index) => count + (b.counts[index] ?? 0));
  return { labels, value: { counts, sum: a.sum + b.sum } };
}

interface Histogram {
  readonly labels: Labels;
  readonly counts: number[];
  sum: number;
}

/** The counters and histograms of one source. They keep their values when a session ends. */
export class Measurements {
  /** The labels of all series. */
  readonly labels: Labels;
  readonly #onObserved: Observed;
  readonly #counters = new Map<FamilyName, Map<string, { readonly labels: Labels; value: number }>>();
  readonly #histograms = new Map<FamilyName, Histogram>();

  constructor(labels: Labels, onObserved: Observed) {
    this.labels = labels;
    this.#onObserved = onObserved;
  }

  /** Sets counters to 0, so that they exist before their first increase, and the increase shows. */
  begin(...names: readonly FamilyName[]): void {
    for (const name of names) this.count(name, {}, 0);
  }

  count(name: FamilyName, more: Labels = {}, by = 1): void {
    const series = this.#counters.get(name) ?? new Map<string, { readonly labels: Labels; value: number }>();
    this.#counters.set(name, series);
    const key = keyOf(more);
    const counter = series.get(key) ?? { labels: { ...this.labels, ...more }, value: 0 };
    series.set(key, counter);
    counter.value += by;
  }

  /** @param value - seconds */
  observe(name: FamilyName, value: number): void {
    const { buckets = [] } = FAMILIES[name];
    const histogram = this.#histograms.get(name) ?? {
      labels: this.labels,
      counts: Array.from({ length: buckets.length + 1 }, () => 0),
      sum: 0,
    };
    this.#histograms.set(name, histogram);
    const found = buckets.findIndex((bound) => value <= bound);
    const at = found < 0 ? buckets.length : found;
    histogram.counts[at] = (histogram.counts[at] ?? 0) + 1;
    histogram.sum += value;
    this.#onObserved(name, this.labels, value);
  }

  /** A copy of all current values, with the given gauges. */
  snapshot(gauges: Gauges = {}): WritableSnapshot {
    const result: WritableSnapshot = new Map();
    for (const [name, series] of this.#counters)
      result.set(
        name,
        [...series.values()].map((counter) => ({ ...counter })),
      );
    for (const [name, { labels, counts, sum }] of this.#histograms)
      result.set(name, [{ labels, value: { counts: [...counts], sum } }]);
    for (const [name, value] of Object.entries(gauges) as [FamilyName, number | undefined][])
      if (value !== undefined) result.set(name, [{ labels: this.labels, value }]);
    return result;
  }
}

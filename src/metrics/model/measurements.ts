import { FAMILIES, type FamilyName } from './families.js';
import { keyOf, type Labels, type Series } from './series.js';

interface Histogram {
  readonly labels: Labels;
  readonly counts: number[];
  sum: number;
}

/** The counters and histograms of one source. They keep their values when a session ends. */
export class Measurements {
  readonly #labels: Labels;
  readonly #onObserved: (name: FamilyName, labels: Labels, value: number) => void;
  readonly #counters = new Map<FamilyName, Map<string, { readonly labels: Labels; value: number }>>();
  readonly #histograms = new Map<FamilyName, Histogram>();

  /**
   * @param labels - the labels of all series
   * @param onObserved - gets each value of a histogram
   */
  constructor(labels: Labels, onObserved: (name: FamilyName, labels: Labels, value: number) => void) {
    this.#labels = labels;
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
    const counter = series.get(key) ?? { labels: { ...this.#labels, ...more }, value: 0 };
    series.set(key, counter);
    counter.value += by;
  }

  /** @param value - seconds */
  observe(name: FamilyName, value: number): void {
    const { buckets = [] } = FAMILIES[name];
    const histogram = this.#histograms.get(name) ?? {
      labels: this.#labels,
      counts: Array.from({ length: buckets.length + 1 }, () => 0),
      sum: 0,
    };
    this.#histograms.set(name, histogram);
    const found = buckets.findIndex((bound) => value <= bound);
    const at = found < 0 ? buckets.length : found;
    histogram.counts[at] = (histogram.counts[at] ?? 0) + 1;
    histogram.sum += value;
    this.#onObserved(name, this.#labels, value);
  }

  /** A copy of all current values. */
  snapshot(): Map<FamilyName, Series[]> {
    const result = new Map<FamilyName, Series[]>();
    for (const [name, series] of this.#counters)
      result.set(
        name,
        [...series.values()].map((counter) => ({ ...counter })),
      );
    for (const [name, { labels, counts, sum }] of this.#histograms)
      result.set(name, [{ labels, value: { counts: [...counts], sum } }]);
    return result;
  }
}

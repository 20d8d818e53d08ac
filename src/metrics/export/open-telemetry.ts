import { FAMILIES, FAMILY_NAMES, type Family, type FamilyName } from '../model/families.js';
import type { Labels, Snapshot } from '../model/series.js';

/** The part of OpenTelemetry's `Meter` that Conclave uses. */
export interface Meter {
  createObservableGauge(name: string, options?: InstrumentOptions): object;
  createObservableCounter(name: string, options?: InstrumentOptions): object;
  createHistogram(name: string, options?: InstrumentOptions): HistogramInstrument;
  addBatchObservableCallback(callback: (result: Observations) => Promise<void>, observables: never[]): void;
  removeBatchObservableCallback(
    callback: (result: Observations) => Promise<void>,
    observables: never[],
  ): void;
}

/** The part of OpenTelemetry's `MetricOptions` that Conclave uses. */
export interface InstrumentOptions {
  description?: string;
  unit?: string;
  advice?: { explicitBucketBoundaries?: number[] };
}

/** The part of OpenTelemetry's `Histogram` that Conclave uses. */
export interface HistogramInstrument {
  record(value: number, attributes?: Record<string, string>): void;
}

/** The part of OpenTelemetry's `BatchObservableResult` that Conclave uses. */
export interface Observations {
  observe(observable: never, value: number, attributes?: Record<string, string>): void;
}

/** Exports metrics by OpenTelemetry. */
export interface MeteredMetrics {
  observed(name: FamilyName, labels: Labels, value: number): void;
  close(): void;
}

/**
 * The metric's name for OpenTelemetry, without the unit and without `_total`: OpenTelemetry's exporter for Prometheus adds both
 * again. `leader_election_master_status` keeps its name, because client-go defines it.
 */
export function instrumentName(name: FamilyName): string {
  const base = name.replace(/_total$/, '');
  const { unit } = FAMILIES[name];
  const plain = unit === undefined ? base : base.replace(new RegExp(`_${unit}$`), '');
  return plain.replace(/^conclave_/, 'conclave.');
}

/** @param collect - gives the metrics that this process has measured itself. Must never reject. */
export function meteredMetrics(meter: Meter, collect: () => Promise<Snapshot>): MeteredMetrics {
  const histograms = new Map<FamilyName, HistogramInstrument>();
  const observables = new Map<FamilyName, object>();
  for (const name of FAMILY_NAMES) {
    const family = FAMILIES[name];
    const options = optionsOf(family);
    if (family.type === 'histogram')
      histograms.set(name, meter.createHistogram(instrumentName(name), options));
    else if (family.type === 'counter')
      observables.set(name, meter.createObservableCounter(instrumentName(name), options));
    else observables.set(name, meter.createObservableGauge(instrumentName(name), options));
  }
  const observe = async (result: Observations) => {
    for (const [name, all] of await collect()) {
      const observable = observables.get(name);
      for (const { labels, value } of all)
        if (observable !== undefined && typeof value === 'number')
          result.observe(observable as never, value, { ...labels });
    }
  };
  const observed = [...observables.values()] as never[];
  meter.addBatchObservableCallback(observe, observed);
  return {
    observed: (name, labels, value) => histograms.get(name)?.record(value, { ...labels }),
    close: () => meter.removeBatchObservableCallback(observe, observed),
  };
}

function optionsOf({ help, unit, buckets }: Family): InstrumentOptions {
  return {
    description: help,
    ...(unit === 'seconds' && { unit: 's' }),
    ...(buckets !== undefined && { advice: { explicitBucketBoundaries: [...buckets] } }),
  };
}

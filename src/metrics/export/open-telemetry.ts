import type { MeasuredHookCall, MeasuredTerm, TermListener } from '../model/collector.js';
import type { Labels, MetricsSnapshot, Observed } from '../model/measurements.js';
import { FAMILIES, FAMILY_NAMES, type FamilyName } from '../model/metric-families.js';

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
  readonly observed: Observed;
  close(): void;
}

/**
 * The metric's name for OpenTelemetry, without the unit and without `_total`: OpenTelemetry's exporter for Prometheus adds both
 * again. `leader_election_master_status` keeps its name, because client-go defines it.
 */
export function instrumentName(name: FamilyName): string {
  return name.replace(/_(?:total|seconds)$/, '').replace(/^conclave_/, 'conclave.');
}

/** @param collect - gives the metrics that this process has measured itself. Must never reject. */
export function meteredMetrics(meter: Meter, collect: () => Promise<MetricsSnapshot>): MeteredMetrics {
  const histograms = new Map<FamilyName, HistogramInstrument>();
  const observables = new Map<FamilyName, object>();
  for (const name of FAMILY_NAMES) {
    const { type } = FAMILIES[name];
    const options = optionsOf(name);
    if (type === 'histogram') histograms.set(name, meter.createHistogram(instrumentName(name), options));
    else if (type === 'counter')
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

function optionsOf(name: FamilyName): InstrumentOptions {
  const { help, buckets } = FAMILIES[name];
  return {
    description: help,
    ...(name.endsWith('_seconds') && { unit: 's' }),
    ...(buckets !== undefined && { advice: { explicitBucketBoundaries: [...buckets] } }),
  };
}

/** The part of OpenTelemetry's `Tracer` that Conclave uses. */
export interface Tracer {
  startSpan(name: string, options?: SpanStart): Span;
}

/** The part of OpenTelemetry's `SpanStart` that Conclave uses. */
export interface SpanStart {
  root?: boolean;
  startTime?: Date;
  attributes?: Record<string, string | number>;
}

/** The part of OpenTelemetry's `Span` that Conclave uses. */
export interface Span {
  setAttribute(key: string, value: string): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  recordException(error: Error): unknown;
  end(): void;
}

const ERROR = 2; // SpanStatusCode.ERROR.

/**
 * A span for each term, each call of a clean-up hook and each takeover. Each span is the root of a trace. Other processes cause
 * these events, so they don't belong to the work that this process happens to do at that moment.
 */
export class Spans implements TermListener {
  readonly #tracer: Tracer;
  readonly #terms = new Map<MeasuredTerm, Span>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  termBegan(labels: Labels, term: MeasuredTerm): void {
    const attributes = { ...attributesOf(labels), ...describe(term) };
    this.#terms.set(term, this.#tracer.startSpan('conclave.term', { root: true, attributes }));
  }

  termEnded(term: MeasuredTerm, reason: string, isLoss: boolean): void {
    const span = this.#terms.get(term);
    this.#terms.delete(term);
    span?.setAttribute('conclave.reason', reason);
    if (isLoss) span?.setStatus({ code: ERROR, message: `the term was lost: ${reason}` });
    span?.end();
  }

  tookOver(labels: Labels, term: MeasuredTerm, since: Date): void {
    const attributes = { ...attributesOf(labels), ...describe(term) };
    this.#tracer.startSpan('conclave.takeover', { root: true, startTime: since, attributes }).end();
  }

  hookCalled(labels: Labels, { attempt, since, error }: MeasuredHookCall): void {
    const attributes = { ...attributesOf(labels), 'conclave.attempt': attempt };
    const span = this.#tracer.startSpan('conclave.hook', { root: true, startTime: since, attributes });
    if (error !== undefined) {
      span.recordException(error);
      span.setStatus({ code: ERROR, message: error.message });
    }
    span.end();
  }

  /** Ends the spans of all current terms, because the ends of these terms will no longer be reported. */
  close(): void {
    for (const span of this.#terms.values()) span.end();
    this.#terms.clear();
  }
}

function attributesOf(labels: Labels): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`conclave.${name}`, value]));
}

function describe({ number, token }: MeasuredTerm): Record<string, string | number> {
  return { 'conclave.term': number, 'conclave.token': String(token) };
}

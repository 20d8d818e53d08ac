// Imports more than 15 modules: 16; it brings the sources, their collectors and the ways to export together.
import { ElectionSupervisor } from '../cluster/supervisor/supervisor.js';
import { ClusterSupervisor } from '../cluster/workers/cluster-supervisor.js';
import { LeaderElector } from '../election/elector.js';
import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { checkOptions, checkPositiveMs } from '../platform/checks.js';
import { ShardSupervisor } from '../shards/supervisor/shard-supervisor.js';
import { ClusterCollector } from './collectors/cluster-collector.js';
import { ElectionCollector } from './collectors/election-collector.js';
import { ShardCollector } from './collectors/shard-collector.js';
import { type Meter, type MeteredMetrics, meteredMetrics } from './export/open-telemetry.js';
import { type PromClientRegistry, registerWith } from './export/prom-client.js';
import { CONTENT_TYPE, prometheusText } from './export/prometheus-text.js';
import { Spans, type Tracer } from './export/spans.js';
import type { Collector, CollectorPort } from './model/collector.js';
import { merged, type Snapshot } from './model/series.js';
import { responder } from './workers/responder.js';

/** What can be measured. */
export type MetricsSource = ElectionSupervisor | LeaderElector | ShardSupervisor | ClusterSupervisor;

/** How metrics are gathered. */
export interface MetricsOptions {
  /**
   * How long the parent of workers waits for the metrics of each of them, in milliseconds. If a worker doesn't answer in time, its
   * metrics are missing, and `conclave_workers_unanswered` counts it. @default 1000
   */
  readonly workerTimeoutMs?: number;
}

/** The parts of OpenTelemetry to measure with. Give at least one of the two. */
export interface Instrumentation {
  /** Of `@opentelemetry/api`: exports the metrics that this process measures, but for those of its workers. */
  readonly meter?: Meter;
  /** Of `@opentelemetry/api`: gets a span for each term, each call of a clean-up hook and each takeover. */
  readonly tracer?: Tracer;
}

/** The metrics of some sources, since {@link metrics} was called. */
export class Metrics {
  /** The media type of what {@link Metrics.text} gives. */
  readonly contentType = CONTENT_TYPE;
  readonly #collectors: readonly Collector[];
  /** What is exported, and what ends that. */
  readonly #meters = new Set<MeteredMetrics>();
  readonly #spans = new Set<Spans>();
  readonly #closing: (() => void)[] = [];
  #isClosed = false;

  /** @internal See {@link metrics}. */
  constructor(sources: readonly MetricsSource[], workerTimeoutMs: number) {
    const port = this.#port();
    this.#collectors = sources.map((source) => {
      if (source instanceof ClusterSupervisor) return new ClusterCollector(source, workerTimeoutMs, port);
      if (source instanceof ShardSupervisor) return new ShardCollector(source, port);
      return new ElectionCollector(source, port);
    });
    if (!this.#hasStopped) responder.add(this);
  }

  /**
   * The metrics in Prometheus's text format, also those of sources that have stopped. The parent of workers asks these first, so
   * this may take `workerTimeoutMs`. A leader lists its queue, which may take half a second.
   *
   * @throws InvalidStateError if it was closed
   */
  async text(): Promise<string> {
    this.#checkOpen();
    return prometheusText(await this.#collect(true));
  }

  /**
   * Adds the metrics to a registry of prom-client's, until {@link Metrics.close}. A registry takes several: each metric is registered
   * once, also for another supervisor that comes after one that has stopped. Does nothing if the registry has these metrics already.
   *
   * @throws InvalidOptionError if it isn't such a registry
   * @throws InvalidStateError if it was closed
   * @throws what the registry throws, if it has another metric of one of these names: then none is registered
   */
  register(registry: PromClientRegistry): void {
    this.#checkOpen();
    checkMethods('registry', registry, ['registerMetric', 'getSingleMetric', 'removeSingleMetric'], {
      expected: 'a Registry of prom-client',
    });
    this.#closing.push(registerWith(registry, this.#gathered));
  }

  /**
   * Measures by OpenTelemetry from now on, until {@link Metrics.close}. Its names are those of Prometheus without `_total` and the
   * unit, and with `conclave.` for `conclave_`. The parent of workers exports what it measures itself: let each worker export its own.
   *
   * @throws InvalidOptionError if neither a meter nor a tracer is given, or one is wrong
   * @throws InvalidStateError if it was closed
   */
  instrument(instrumentation: Instrumentation): void {
    this.#checkOpen();
    const { meter, tracer } = checkOptions<Instrumentation>('instrument', instrumentation, [
      'meter',
      'tracer',
    ]);
    if (meter === undefined && tracer === undefined)
      throw new InvalidOptionError('instrument', instrumentation, 'an object with a meter, a tracer or both');
    const what = 'of @opentelemetry/api';
    if (meter !== undefined)
      checkMethods('instrument.meter', meter, METER_METHODS, { expected: `a Meter ${what}` });
    if (tracer !== undefined)
      checkMethods('instrument.tracer', tracer, ['startSpan'], { expected: `a Tracer ${what}` });
    if (meter !== undefined) this.#meters.add(meteredMetrics(meter, () => this.own()));
    if (tracer !== undefined) this.#trace(new Spans(tracer));
  }

  /** Stops measuring, and removes the registered metrics. The sources go on as if they had never been measured. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    responder.remove(this);
    for (const each of this.#closing) each();
    for (const each of [...this.#meters, ...this.#spans]) each.close();
    for (const collector of this.#collectors) collector.close();
  }

  /** Closes it, for `using`: the same as `close()`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** @internal What this process has measured itself. Never rejects. */
  own(): Promise<Snapshot> {
    return this.#collect(false);
  }

  readonly #gathered = { collect: () => this.#collect(true) };

  async #collect(gathers: boolean): Promise<Snapshot> {
    return merged(await Promise.all(this.#collectors.map((each) => each.collect(gathers))));
  }

  #trace(spans: Spans): void {
    this.#spans.add(spans);
    for (const collector of this.#collectors)
      for (const { labels, term } of collector.terms()) spans.termBegan(labels, term);
  }

  #port(): CollectorPort {
    const spans = this.#spans;
    return {
      observed: (...value) => {
        for (const meter of this.#meters) meter.observed(...value);
      },
      termBegan: (...began) => {
        for (const each of spans) each.termBegan(...began);
      },
      termEnded: (...ended) => {
        for (const each of spans) each.termEnded(...ended);
      },
      tookOver: (...takeover) => {
        for (const each of spans) each.tookOver(...takeover);
      },
      hookCalled: (...call) => {
        for (const each of spans) each.hookCalled(...call);
      },
      // A process that has nothing more to do must be able to end.
      stopped: () => {
        if (this.#hasStopped) responder.remove(this);
      },
    };
  }

  get #hasStopped(): boolean {
    return this.#collectors.every(({ hasStopped }) => hasStopped);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new InvalidStateError('the metrics were closed');
  }
}

const METER_METHODS = [
  'createObservableGauge',
  'createObservableCounter',
  'createHistogram',
  'addBatchObservableCallback',
  'removeBatchObservableCallback',
];

/** Not by their class: which copy of that library it is doesn't matter. */
function checkMethods(
  name: string,
  value: unknown,
  methods: readonly string[],
  { expected }: { readonly expected: string },
): void {
  const isObject = typeof value === 'object' && value !== null;
  if (isObject && methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function'))
    return;
  throw new InvalidOptionError(name, value, expected);
}

const SOURCES = [ElectionSupervisor, LeaderElector, ShardSupervisor, ClusterSupervisor];

/**
 * Measures supervisors, electors, shard supervisors and the parents of workers from now on, until `close()`. It sets no timer. It sends
 * the servers no request before you ask for the metrics.
 *
 * Guaranteed: no count is lost at the end of a session, and measuring doesn't change how the sources behave. Counters count from this call
 * on, so call it before `start()`. Not guaranteed: that two processes agree at any moment. Each reports what it knows. Only
 * `term.isHeld()` decides whether a process may act.
 *
 * @example
 * ```ts
 * const measured = metrics(supervisor);
 * createServer(async (_, response) => {
 *   response.setHeader('content-type', measured.contentType);
 *   response.end(await measured.text());
 * }).listen(9100);
 * ```
 * @throws InvalidOptionError if a source is of another class, or of another copy of Conclave, or an option is wrong
 */
export function metrics(
  sources: MetricsSource | readonly MetricsSource[],
  options?: MetricsOptions,
): Metrics {
  const given = checkOptions<MetricsOptions>('metrics', options, ['workerTimeoutMs']);
  const workerTimeoutMs = checkPositiveMs('workerTimeoutMs', given.workerTimeoutMs, 1000);
  const all: readonly MetricsSource[] = Array.isArray(sources) ? sources : [sources as MetricsSource];
  for (const source of all)
    if (!SOURCES.some(({ prototype }) => Object.prototype.isPrototypeOf.call(prototype, source)))
      throw new InvalidOptionError(
        'source',
        source,
        'an ElectionSupervisor, a LeaderElector, a ShardSupervisor or a ClusterSupervisor',
      );
  return new Metrics([...new Set(all)], workerTimeoutMs);
}

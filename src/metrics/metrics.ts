import { ElectionSupervisor } from '../cluster/supervisor/election-supervisor.js';
import { ClusterSupervisor } from '../cluster/workers/cluster-supervisor.js';
import { LeaderElector } from '../election/leader-elector.js';
import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { LeaderJobs } from '../jobs/leader-jobs.js';
import { checkOptions } from '../platform/checks.js';
import { ShardSupervisor } from '../shards/supervisor/shard-supervisor.js';
import { ClusterCollector } from './collectors/cluster-collector.js';
import { ElectionCollector } from './collectors/election-collector.js';
import { JobCollector } from './collectors/job-collector.js';
import { ShardCollector } from './collectors/shard-collector.js';
import { responder } from './collectors/worker-metrics.js';
import {
  type Meter,
  type MeteredMetrics,
  meteredMetrics,
  Spans,
  type Tracer,
} from './export/open-telemetry.js';
import { awaitsValues, type PromClientRegistry, registerWith } from './export/prom-client.js';
import { CONTENT_TYPE, prometheusText } from './export/prometheus-text.js';
import type { Collector, CollectorPort } from './model/collector.js';
import { type MetricsSnapshot, merged } from './model/measurements.js';

/** The classes that {@link metrics} measures. */
export type MetricsSource =
  | ElectionSupervisor
  | LeaderElector
  | ShardSupervisor
  | ClusterSupervisor
  | LeaderJobs;

/** The parts of OpenTelemetry to measure with. Give at least one of the two. */
export interface Instrumentation {
  /** A meter of `@opentelemetry/api` 1.3 or later. It exports the metrics that this process measures itself, without those of its workers. */
  readonly meter?: Meter;
  /** A tracer of `@opentelemetry/api`. It gets a span for each term, each call of a clean-up hook and each takeover. */
  readonly tracer?: Tracer;
}

/** The metrics of some sources since the call of {@link metrics}. */
export class Metrics {
  /** The media type of the text that {@link Metrics.text} returns. */
  readonly contentType = CONTENT_TYPE;
  readonly #collectors: readonly Collector[];
  readonly #meters = new Map<Meter, MeteredMetrics>();
  readonly #spans = new Map<Tracer, Spans>();
  readonly #closing: (() => void)[] = [];
  #isClosed = false;

  /** @internal See {@link metrics}. */
  constructor(sources: readonly MetricsSource[]) {
    const port = this.#port();
    this.#collectors = sources.map((source) => {
      if (source instanceof ClusterSupervisor) return new ClusterCollector(source, port);
      if (source instanceof LeaderJobs) return new JobCollector(source, port);
      if (source instanceof ShardSupervisor) return new ShardCollector(source, port);
      return new ElectionCollector(source, port);
    });
    if (!this.#hasStopped) responder.add(this);
  }

  /**
   * Returns the metrics in Prometheus's text format, including those of sources that have stopped. The parent of workers first asks
   * its workers, and waits for up to a second. The metrics of a worker that doesn't answer in time are missing, and
   * `conclave_workers_unanswered` counts it. A leader lists its queue, which may take up to half a second.
   *
   * @throws InvalidStateError after `close()`
   */
  async text(): Promise<string> {
    this.#checkOpen();
    return prometheusText(await this.#collect(true));
  }

  /**
   * Adds the metrics to a registry of prom-client, until {@link Metrics.close}. You may add several `Metrics` to one registry, also
   * when a supervisor replaces one that has stopped: the registry gets each metric only once. A second call with the same registry
   * changes nothing.
   *
   * @throws InvalidOptionError if `registry` isn't a registry of prom-client 13 or later
   * @throws InvalidStateError after `close()`
   * @throws the registry's error if the registry has another metric with one of these names. Then this method registers none.
   */
  register(registry: PromClientRegistry): void {
    this.#checkOpen();
    const expected = 'a Registry of prom-client 13 or later';
    checkMethods('registry', registry, REGISTRY_METHODS, expected);
    if (!awaitsValues(registry))
      throw new InvalidOptionError(
        'registry',
        registry,
        `${expected}, and this one is of an earlier version`,
      );
    this.#closing.push(registerWith(registry, this.#gathered));
  }

  /**
   * Exports by OpenTelemetry from now on, until {@link Metrics.close}. The metrics have the same names as in Prometheus, without
   * `_total` and the unit, and with `conclave.` in place of `conclave_`. The parent of workers exports only its own metrics. Let each
   * worker export its own, too. A second call with the same meter or tracer changes nothing. One with another exports by both.
   *
   * @throws InvalidOptionError if you give neither a meter nor a tracer, or if one of them is wrong
   * @throws InvalidStateError after `close()`
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
      checkMethods('instrument.meter', meter, METER_METHODS, `a Meter ${what} 1.3 or later`);
    if (tracer !== undefined) checkMethods('instrument.tracer', tracer, ['startSpan'], `a Tracer ${what}`);
    if (meter !== undefined && !this.#meters.has(meter))
      this.#meters.set(
        meter,
        meteredMetrics(meter, () => this.own()),
      );
    if (tracer !== undefined && !this.#spans.has(tracer)) this.#trace(tracer);
  }

  /** Stops measuring, and removes the registered metrics. The sources go on as if they had never been measured. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    responder.remove(this);
    for (const each of this.#closing) each();
    for (const each of [...this.#meters.values(), ...this.#spans.values()]) each.close();
    for (const collector of this.#collectors) collector.close();
  }

  /** The same as `close()`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** @internal The metrics that this process has measured itself. Never rejects. */
  own(): Promise<MetricsSnapshot> {
    return this.#collect(false);
  }

  readonly #gathered = () => this.#collect(true);

  async #collect(gathers: boolean): Promise<MetricsSnapshot> {
    return merged(await Promise.all(this.#collectors.map((each) => each.collect(gathers))));
  }

  #trace(tracer: Tracer): void {
    const spans = new Spans(tracer);
    this.#spans.set(tracer, spans);
    for (const collector of this.#collectors) collector.introduce(spans);
  }

  #port(): CollectorPort {
    return {
      observed: (...value) => {
        for (const meter of this.#meters.values()) meter.observed(...value);
      },
      trace: (tell) => {
        for (const spans of this.#spans.values()) tell(spans);
      },
      // The responder's listener keeps the process alive. When all sources have stopped, the process must be able to end.
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

const REGISTRY_METHODS = [
  'registerMetric',
  'getSingleMetric',
  'getSingleMetricAsString',
  'removeSingleMetric',
];
const METER_METHODS = [
  'createObservableGauge',
  'createObservableCounter',
  'createHistogram',
  'addBatchObservableCallback',
  'removeBatchObservableCallback',
];

/** Checks an object by its methods, not by its class, because it may come from another copy of the library. */
function checkMethods(name: string, value: unknown, methods: readonly string[], expected: string): void {
  const isObject = typeof value === 'object' && value !== null;
  if (isObject && methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function'))
    return;
  throw new InvalidOptionError(name, value, expected);
}

const SOURCES = [ElectionSupervisor, LeaderElector, ShardSupervisor, ClusterSupervisor, LeaderJobs];

/**
 * Measures supervisors, electors, shard supervisors, jobs and the parents of workers from now on, until `close()`. It sets no timer, and it
 * sends the servers no request until you ask for the metrics.
 *
 * Guaranteed: counters keep their counts at the end of a session, and measuring doesn't change how the sources behave. Counters count
 * from this call on, so call it before `start()`. Not guaranteed: that two processes agree at any moment, because each reports what it
 * knows. Only `term.isHeld()` decides whether a process may act.
 *
 * @example
 * ```ts
 * const measured = metrics(supervisor);
 * createServer(async (_, response) => {
 *   response.setHeader('content-type', measured.contentType);
 *   response.end(await measured.text());
 * }).listen(9100);
 * ```
 * @throws InvalidOptionError if a source is of another class or of another copy of Conclave
 */
export function metrics(sources: MetricsSource | readonly MetricsSource[]): Metrics {
  const all: readonly MetricsSource[] = Array.isArray(sources) ? sources : [sources as MetricsSource];
  for (const source of all)
    if (!SOURCES.some(({ prototype }) => Object.prototype.isPrototypeOf.call(prototype, source)))
      throw new InvalidOptionError(
        'source',
        source,
        'an ElectionSupervisor, a LeaderElector, a ShardSupervisor, a ClusterSupervisor or LeaderJobs',
      );
  return new Metrics([...new Set(all)]);
}

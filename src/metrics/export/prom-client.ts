import { type MetricsSnapshot, merged, samplesOf } from '../model/measurements.js';
import { FAMILIES, FAMILY_NAMES, type FamilyName } from '../model/metric-families.js';

/** The part of prom-client's `Registry` that Conclave uses. */
export interface PromClientRegistry {
  registerMetric(metric: never): void;
  getSingleMetric(name: string): unknown;
  getSingleMetricAsString(name: string): Promise<string>;
  removeSingleMetric(name: string): void;
}

/** Gives metrics. Never rejects. */
type Collect = () => Promise<MetricsSnapshot>;

/**
 * These say something of an election, of a group or of a candidate. A registry of prom-client's that gathers workers would add them up where workers
 * have the same id.
 */
const NOT_ADDED_UP: ReadonlySet<FamilyName> = new Set([
  'conclave_term',
  'conclave_lease_remaining_seconds',
  'conclave_proof_age_seconds',
  'conclave_queue_position',
  'conclave_queue_length',
  'conclave_shards',
  'conclave_longest_stall_seconds',
  'conclave_job_running_seconds',
] as const);

const bridges = new WeakMap<PromClientRegistry, Bridge>();

/**
 * Whether the registry awaits the values of a metric. Before prom-client 13 it took a promise for the values, and each scrape failed. The metric
 * that this asks for is the registry's only for the call, so that neither Conclave nor the application collects anything.
 */
export function awaitsValues(registry: PromClientRegistry): boolean {
  const name = 'conclave_probe';
  const none = { name, help: 'a probe', type: 'gauge', values: [] };
  const probe = { ...none, aggregator: 'sum', get: async () => none, reset: () => undefined };
  registry.registerMetric(probe as never);
  try {
    return typeof registry.getSingleMetricAsString(name)?.then === 'function';
  } catch {
    return false;
  } finally {
    registry.removeSingleMetric(name);
  }
}

/**
 * Registers the metrics with prom-client's registry, which shows what `collect` gives from now on. One registry takes any number
 * of such functions. It gets each metric only once.
 * @returns a function that removes `collect`
 * @throws the registry's error if the registry has another metric with one of these names
 */
export function registerWith(registry: PromClientRegistry, collect: Collect): () => void {
  const bridge = bridges.get(registry) ?? new Bridge(registry);
  bridge.add(collect);
  bridges.set(registry, bridge);
  return () => bridge.remove(collect);
}

class Bridge {
  readonly #registry: PromClientRegistry;
  readonly #sources = new Set<Collect>();
  /** In the registry's form. They keep no values: at each scrape they collect them. */
  readonly #metrics: ReadonlyMap<FamilyName, object>;
  /** The registry asks for all metrics at the same time. They share one collection. */
  #collecting: Promise<MetricsSnapshot> | undefined;

  constructor(registry: PromClientRegistry) {
    this.#registry = registry;
    this.#metrics = new Map(FAMILY_NAMES.map((name) => [name, this.#metric(name)]));
  }

  add(source: Collect): void {
    const added: string[] = [];
    try {
      for (const [name, metric] of this.#metrics) {
        // The application may have cleared its registry since.
        if (this.#registry.getSingleMetric(name) === metric) continue;
        this.#registry.registerMetric(metric as never);
        added.push(name);
      }
    } catch (error) {
      for (const name of added) this.#registry.removeSingleMetric(name);
      throw error;
    }
    this.#sources.add(source);
  }

  remove(source: Collect): void {
    this.#sources.delete(source);
    if (this.#sources.size > 0) return;
    for (const [name, metric] of this.#metrics)
      if (this.#registry.getSingleMetric(name) === metric) this.#registry.removeSingleMetric(name);
  }

  #metric(name: FamilyName): object {
    const { type, help, labels } = FAMILIES[name];
    const described = { help, type, aggregator: NOT_ADDED_UP.has(name) ? 'max' : 'sum' };
    const metric = {
      ...{ ...described, name, labelNames: labels },
      get: async (): Promise<object> => {
        const series = (await this.#collect()).get(name) ?? [];
        const samples = series.flatMap((each) => samplesOf(name, each));
        const values = samples.map(({ ending, ...sample }) =>
          ending === '' ? sample : { ...sample, metricName: `${name}${ending}` },
        );
        // A registry for OpenMetrics changes a counter's name before it reads the counter.
        return { ...described, name: metric.name, values };
      },
      reset: () => undefined, // Counts must not go back.
    };
    return metric;
  }

  #collect(): Promise<MetricsSnapshot> {
    this.#collecting ??= Promise.all([...this.#sources].map((collect) => collect()))
      .then(merged)
      .finally(() => {
        this.#collecting = undefined;
      });
    return this.#collecting;
  }
}

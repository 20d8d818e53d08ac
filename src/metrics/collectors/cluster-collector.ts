import type { CleanupReport } from '../../cluster/dead-children/session-guardian.js';
import type { ClusterSupervisor } from '../../cluster/workers/cluster-supervisor.js';
import type { WorkerExit } from '../../cluster/workers/worker-slot.js';
import { Collector, type CollectorPort } from '../model/collector.js';
import { Measurements, type MetricsSnapshot, merged, withLabel } from '../model/measurements.js';
import { WORKER_LABEL } from '../model/metric-families.js';
import { countError } from './session-measurements.js';
import { askWorkers } from './worker-metrics.js';

/** Measures the parent of workers, and gathers the workers' own metrics. */
export class ClusterCollector extends Collector {
  readonly #source: ClusterSupervisor;
  readonly #measurements: Measurements;

  constructor(source: ClusterSupervisor, port: CollectorPort) {
    super(port);
    this.#source = source;
    const measurements = new Measurements({}, port.observed);
    measurements.begin('conclave_worker_restarts_total');
    this.#measurements = measurements;
    this.closing.push(
      source.tap((event, value) => {
        if (event === 'exited')
          measurements.count('conclave_worker_exits_total', {
            expected: String((value as WorkerExit).expected),
          });
        else if (event === 'restarting') measurements.count('conclave_worker_restarts_total');
        else if (event === 'error') countError(measurements, value);
        else if (event === 'stopped') this.sourceStopped();
      }),
      source.guardian.tap((event, value) => {
        if (event !== 'cleanedUp') return;
        for (const { clean } of (value as CleanupReport).sessions)
          measurements.count('conclave_session_cleanups_total', { clean: String(clean) });
      }),
    );
  }

  override async collect(gathers: boolean): Promise<MetricsSnapshot> {
    if (!gathers) return this.#own();
    const { children, environment } = this.#source;
    const { answers, unanswered } = await askWorkers(children, environment.clock);
    const ofWorkers = answers.map(({ slot, snapshot }) => withLabel(snapshot, WORKER_LABEL, String(slot)));
    return merged([this.#own(unanswered), ...ofWorkers]);
  }

  /** The parent's own metrics, without those of the workers. */
  #own(unanswered?: number): MetricsSnapshot {
    return this.#measurements.snapshot({
      conclave_workers: this.#source.children.length,
      conclave_guarded_processes: this.#source.guardian.guarded,
      conclave_workers_unanswered: unanswered,
    });
  }
}

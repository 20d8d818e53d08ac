import type { CleanupReport } from '../../cluster/dead-children/session-guardian.js';
import type { ClusterSupervisor } from '../../cluster/workers/cluster-supervisor.js';
import type { WorkerExit } from '../../cluster/workers/worker-slot.js';
import type { Collector, CollectorPort } from '../model/collector-interface.js';
import { Measurements, type MetricsSnapshot, merged, type Series, withLabel } from '../model/measurements.js';
import { type FamilyName, WORKER_LABEL } from '../model/metric-families.js';
import { countError } from './session-measurements.js';
import { askWorkers } from './worker-metrics.js';

/** Measures the parent of workers, and gathers the workers' own metrics. */
export class ClusterCollector implements Collector {
  readonly #source: ClusterSupervisor;
  readonly #measurements: Measurements;
  readonly #untap: readonly (() => void)[];
  #hasStopped = false;

  constructor(source: ClusterSupervisor, port: CollectorPort) {
    this.#source = source;
    const measurements = new Measurements({}, (...value) => port.observed(...value));
    measurements.begin('conclave_worker_restarts_total');
    this.#measurements = measurements;
    this.#untap = [
      source.tap((event, value) => {
        if (event === 'exited')
          measurements.count('conclave_worker_exits_total', {
            expected: String((value as WorkerExit).expected),
          });
        else if (event === 'restarting') measurements.count('conclave_worker_restarts_total');
        else if (event === 'error') countError(measurements, value);
        if (event !== 'stopped') return;
        this.#hasStopped = true;
        port.stopped();
      }),
      source.guardian.tap((event, value) => {
        if (event !== 'cleanedUp') return;
        for (const { clean } of (value as CleanupReport).sessions)
          measurements.count('conclave_session_cleanups_total', { clean: String(clean) });
      }),
    ];
  }

  get hasStopped(): boolean {
    return this.#hasStopped;
  }

  terms() {
    return [];
  }

  async collect(gathers: boolean): Promise<MetricsSnapshot> {
    if (!gathers) return this.#own(undefined);
    const { children, environment } = this.#source;
    const { answers, unanswered } = await askWorkers(children, environment.clock);
    const ofWorkers = answers.map(({ slot, snapshot }) => withLabel(snapshot, WORKER_LABEL, String(slot)));
    return merged([this.#own(unanswered), ...ofWorkers]);
  }

  /** The parent's own metrics, without those of the workers. */
  #own(unanswered: number | undefined): MetricsSnapshot {
    const result: Map<FamilyName, Series[]> = this.#measurements.snapshot();
    const set = (name: FamilyName, value: number) => result.set(name, [{ labels: {}, value }]);
    set('conclave_workers', this.#source.children.length);
    set('conclave_guarded_processes', this.#source.guardian.guarded);
    if (unanswered !== undefined) set('conclave_workers_unanswered', unanswered);
    return result;
  }

  close(): void {
    for (const untap of this.#untap) untap();
  }
}

import { LeaderElector } from '../../election/leader-elector.js';
import type { JobReport } from '../../jobs/job.js';
import type { LeaderJobs } from '../../jobs/leader-jobs.js';
import type { Collector, CollectorPort } from '../model/collector-interface.js';
import { type Labels, Measurements, type MetricsSnapshot, merged } from '../model/measurements.js';

/** The outcomes that each job may have: they count from 0, so that the first one shows. */
const OUTCOMES = ['succeeded', 'failed', 'cut off', 'too late', 'superseded', 'refused'] as const;

/** Measures the jobs of an election in this process. */
export class JobCollector implements Collector {
  readonly #source: LeaderJobs;
  readonly #port: CollectorPort;
  readonly #jobs = new Map<string, Measurements>();
  readonly #untap: readonly (() => void)[];
  #hasStopped = false;

  constructor(source: LeaderJobs, port: CollectorPort) {
    this.#source = source;
    this.#port = port;
    this.#untap = [
      source.tap((report) => this.#heard(report)),
      source.leadership.tap((event) => {
        const isEnd =
          event === 'stopped' || (event === 'expired' && source.leadership instanceof LeaderElector);
        if (!isEnd) return;
        this.#hasStopped = true;
        port.stopped();
      }),
    ];
  }

  get hasStopped(): boolean {
    return this.#hasStopped;
  }

  terms() {
    return [];
  }

  async collect(): Promise<MetricsSnapshot> {
    return merged(
      this.#source.running.map(({ job, runningMs = 0 }) => {
        const value = runningMs / 1000;
        const running = [{ labels: this.#labelsOf(job), value }];
        return this.#measurementsOf(job).snapshot().set('conclave_job_running_seconds', running);
      }),
    );
  }

  close(): void {
    for (const untap of this.#untap) untap();
  }

  #heard({ job, outcome, run }: JobReport): void {
    const measurements = this.#measurementsOf(job);
    measurements.count('conclave_job_firings_total', { outcome });
    if (run === undefined) return;
    measurements.observe('conclave_job_duration_seconds', run.tookMs / 1000);
    measurements.observe('conclave_job_lateness_seconds', run.lateMs / 1000);
  }

  #measurementsOf(job: string): Measurements {
    const known = this.#jobs.get(job);
    if (known !== undefined) return known;
    const measurements = new Measurements(this.#labelsOf(job), (...value) => this.#port.observed(...value));
    for (const outcome of OUTCOMES) measurements.count('conclave_job_firings_total', { outcome }, 0);
    this.#jobs.set(job, measurements);
    return measurements;
  }

  #labelsOf(job: string): Labels {
    const { path: election, id } = this.#source.leadership;
    return { election, id, job };
  }
}

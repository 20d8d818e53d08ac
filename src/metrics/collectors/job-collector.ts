import { LeaderElector } from '../../election/leader-elector.js';
import type { JobReport } from '../../jobs/job.js';
import type { LeaderJobs } from '../../jobs/leader-jobs.js';
import { Collector, type CollectorPort } from '../model/collector.js';
import { Measurements, type MetricsSnapshot, merged } from '../model/measurements.js';

/** The outcomes that each job may have: they count from 0, so that the first one shows. */
const OUTCOMES = ['succeeded', 'failed', 'cut off', 'too late', 'superseded', 'refused'] as const;

/** Measures the jobs of an election in this process. */
export class JobCollector extends Collector {
  readonly #source: LeaderJobs;
  readonly #jobs = new Map<string, Measurements>();

  constructor(source: LeaderJobs, port: CollectorPort) {
    super(port);
    this.#source = source;
    this.closing.push(
      source.tap((report) => this.#heard(report)),
      source.leadership.tap((event) => {
        if (event === 'stopped' || (event === 'expired' && source.leadership instanceof LeaderElector))
          this.sourceStopped();
      }),
    );
  }

  override async collect(): Promise<MetricsSnapshot> {
    return merged(
      this.#source.running.map(({ job, runningMs = 0 }) =>
        this.#measurementsOf(job).snapshot({ conclave_job_running_seconds: runningMs / 1000 }),
      ),
    );
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
    const { path: election, id } = this.#source.leadership;
    const measurements = new Measurements({ election, id, job }, this.port.observed);
    for (const outcome of OUTCOMES) measurements.count('conclave_job_firings_total', { outcome }, 0);
    this.#jobs.set(job, measurements);
    return measurements;
  }
}

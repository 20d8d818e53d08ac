import { ElectionSupervisor, type ElectionSupervisorOptions, type Term } from 'conclave';

/** The work of the scheduler. It must end soon after `term.signal` aborts. */
export type Job = (term: Term) => Promise<unknown>;

export interface SchedulerOptions {
  readonly connect: string;
  readonly job: Job;
  readonly session?: ElectionSupervisorOptions['session'];
}

/** The scheduler under test, which runs one job after the other while it leads. Only its option `session` is for tests. */
export class Scheduler {
  /** The outcome of each job. */
  readonly log: string[] = [];
  readonly supervisor: ElectionSupervisor;

  constructor({ connect, job, session = {} }: SchedulerOptions) {
    this.supervisor = new ElectionSupervisor({
      connect,
      path: '/elections/scheduler',
      session,
      lead: async (term) => {
        while (term.isHeld()) await this.#run(job, term);
      },
      cleanup: async () => {
        this.log.push('cleaned up');
      },
    });
  }

  async #run(job: Job, term: Term) {
    this.log.push(`begun in term ${term.number}`);
    try {
      await job(term);
      term.assertHeld(); // A result after the end of the term doesn't count.
      this.log.push('done');
    } catch (error) {
      this.log.push(term.signal.aborted ? `given up: ${term.signal.reason.reason}` : `failed: ${error}`);
    }
  }
}

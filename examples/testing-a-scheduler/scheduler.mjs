import { ElectionSupervisor } from 'conclave';

/**
 * The scheduler under test, which runs one job after the other while it leads. For tests it only takes session options.
 */
export class Scheduler {
  /** The outcome of each job. @type {string[]} */
  log = [];

  /**
   * @param {object} options
   * @param {string} options.connect
   * @param {(term: import('conclave').Term) => Promise<void>} options.job must end soon after `term.signal` aborts
   * @param {import('conclave').ElectionSupervisorOptions['session']} [options.session]
   */
  constructor({ connect, job, session = {} }) {
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

  /**
   * @param {(term: import('conclave').Term) => Promise<void>} job
   * @param {import('conclave').Term} term
   */
  async #run(job, term) {
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

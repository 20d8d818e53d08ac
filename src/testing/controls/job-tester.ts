import type { ElectionSupervisor } from '../../cluster/supervisor/election-supervisor.js';
import type { Term } from '../../election/term/term.js';
import type { LeaderJobs } from '../../jobs/leader-jobs.js';
import { SILENT } from '../../platform/logging/logger.js';
import { EmbeddedZooKeeper } from '../embedded-zookeeper.js';
import { nextEvent } from './wait-for-events.js';

/**
 * Two replicas on an embedded server: yours, with its jobs, and another one. At first the other one leads.
 *
 * @example
 * ```ts
 * const tester = await JobTester.start();
 * const backup = tester.jobs.job('backup', backUp);
 * await backup(); // undefined: as in a replica that doesn't lead. It remembers the firing.
 * await tester.lead(); // Runs what it remembers, as after a handover.
 * await tester.follow(); // Aborts the signals of runs, and waits for them.
 * await tester.stop();
 * ```
 */
export class JobTester {
  /** Your replica: a stand-in for the supervisor of the code under test. Don't stop it by itself. */
  readonly supervisor: ElectionSupervisor;
  /** The jobs of your replica: what the code under test gets in place of its own. */
  readonly jobs: LeaderJobs;
  readonly #other: ElectionSupervisor;
  readonly #server: EmbeddedZooKeeper;

  private constructor(
    server: EmbeddedZooKeeper,
    other: ElectionSupervisor,
    supervisor: ElectionSupervisor,
    jobs: LeaderJobs,
  ) {
    this.#server = server;
    this.#other = other;
    this.supervisor = supervisor;
    this.jobs = jobs;
  }

  /** Starts both. Your replica waits behind the other one. */
  static async start(): Promise<JobTester> {
    // Loaded here, because most tests need only the server, and the client takes longer to load.
    const [{ ElectionSupervisor: Supervisor }, { LeaderJobs: Jobs }] = await Promise.all([
      import('../../cluster/supervisor/election-supervisor.js'),
      import('../../jobs/leader-jobs.js'),
    ]);
    const server = await EmbeddedZooKeeper.start({ logger: SILENT });
    const replica = (id: string) => new Supervisor({ connect: server.connectString, path: '/jobs', id });
    const [other, supervisor] = [replica('other'), replica('tested')];
    for (const [each, event] of [
      [other, 'elected'],
      [supervisor, 'waiting'],
    ] as const) {
      const reached = nextEvent(each, event);
      await each.start();
      await reached;
    }
    return new JobTester(server, other, supervisor, new Jobs(supervisor));
  }

  /** Lets your replica lead, by a handover from the other one. Resolves with the term, at once if it leads. */
  async lead(): Promise<Term> {
    if (this.supervisor.term?.isHeld()) return this.supervisor.term;
    const elected = nextEvent<[Term]>(this.supervisor, 'elected');
    await this.#other.resign();
    return (await elected)[0];
  }

  /** Hands over to the other replica. Resolves when that leads, after the runs in yours have settled. */
  async follow(): Promise<void> {
    if (!this.supervisor.term?.isHeld()) return;
    const elected = nextEvent(this.#other, 'elected');
    await this.supervisor.resign();
    await elected;
  }

  /** Stops both replicas and the server. */
  async stop(): Promise<void> {
    await this.supervisor.stop();
    await this.#other.stop();
    await this.#server.stop();
  }
}

import type { TermLoss } from '../../../src/cluster/supervisor/cleanup-hook.js';
import { ElectionSupervisor } from '../../../src/cluster/supervisor/election-supervisor.js';
import { isLoss } from '../../../src/election/term/demotion.js';
import type { Term } from '../../../src/election/term/term.js';
import { CleanupFailedError, type DemotionReason } from '../../../src/errors.js';
import { ignore } from '../../../src/platform/async/promises.js';
import type { Session } from '../../../src/session/session.js';
import { CheckedObserver } from '../checked-observer.js';
import { Candidate, type CandidateSetup, ELECTION, joinOptions, sessionTimes } from './candidate.js';
import { CONNECT, SILENT } from './environment.js';

/** A process with an `ElectionSupervisor`, and the checks of that supervisor. */
export class SupervisedCandidate extends Candidate {
  readonly #supervisor: ElectionSupervisor;
  readonly #observer: CheckedObserver | undefined;
  /** How often the hook has succeeded since it last joined the election. */
  #cleanings = 0;
  #cleaning = false;
  /** Whether it has lost a session or a term since the hook was called last. */
  #owesCleanUp = false;
  /** The term that ended last, and why, until it is elected again or cleans up. */
  #lost: { readonly term: Term; readonly reason: DemotionReason } | undefined;
  #stopping = false;
  #failed = false;
  #gaveUp = false;

  constructor(setup: CandidateSetup) {
    super(setup);
    const { environment, id } = setup;
    this.#supervisor = new ElectionSupervisor({
      connect: CONNECT,
      path: ELECTION,
      id,
      ...joinOptions(setup),
      logger: SILENT,
      session: { ...sessionTimes(setup), environment },
      ...this.warmOptions(),
      cleanup: async (loss) => {
        this.#beginCleaning(loss);
        await this.cleanUp();
        this.#lost = undefined;
        this.#cleanings++;
        this.#cleaning = false;
      },
    });
    this.#listen();
    if (this.surroundings.observes)
      this.#observer = new CheckedObserver(
        `${id}'s observer`,
        environment,
        this.surroundings,
        this.#supervisor,
      );
  }

  #listen(): void {
    const { ledger } = this.surroundings;
    const wrong = (what: string) => ledger.violate('hook', `${this.id} ${what}`);
    this.#supervisor
      .on('expired', () => {
        this.#owesCleanUp = true;
      })
      .on('elected', (term) => {
        if (this.#cleaning) wrong('was elected while the hook was running');
        if (this.#owesCleanUp) wrong('was elected, and the hook was not called after a loss');
        this.#lost = undefined;
        this.elected(term);
      })
      .on('demoted', (term, reason) => {
        this.#lost = { term, reason };
        if (isLoss(reason)) this.#owesCleanUp = true;
        this.demoted(term, reason);
      })
      .on('restarting', ({ attempt }) => {
        if (this.#cleaning) wrong('restarted while the hook was running');
        if (attempt === 1 && this.#cleanings !== 1) wrong(`cleaned up ${this.#cleanings} times after a loss`);
        this.#cleanings = 0;
        ledger.count('restarts');
      })
      .on('error', (error) => {
        ledger.count(`reported: ${error.name}`);
        if (error instanceof CleanupFailedError) this.#failed = true;
      })
      .on('stopped', () => {
        if (this.#owesCleanUp) wrong('has stopped, and the hook was not called after a loss');
        if (this.#stopping) return;
        if (this.#failed) this.#gaveUp = true;
        else wrong('stopped by itself');
      });
  }

  protected override overran(): void {
    this.#owesCleanUp = true;
  }

  #beginCleaning({ term, reason }: TermLoss): void {
    this.#cleaning = true;
    this.#owesCleanUp = false;
    const { ledger } = this.surroundings;
    ledger.count(`cleaned up after: ${reason}`);
    if (this.isActing) ledger.violate('hook', `${this.id} acts while the hook runs`);
    const last = this.#lost;
    const wasLost = last !== undefined && isLoss(last.reason);
    if (term !== last?.term && (wasLost || term !== undefined))
      ledger.violate('hook', `${this.id} cleans up after another term than it lost`);
    if (wasLost && ![last.reason, 'session-expired'].includes(reason))
      ledger.violate('hook', `${this.id} lost its term for ${last.reason}, and cleans up after ${reason}`);
  }

  /** Whether it has stopped because the hook never succeeded. */
  get hasGivenUp(): boolean {
    return this.#gaveUp;
  }

  override get observer(): CheckedObserver | undefined {
    return this.#observer;
  }

  override get isWaiting(): boolean {
    return !this.isActing && this.#supervisor.health().ready;
  }

  override get isCleaning(): boolean {
    return this.#cleaning;
  }

  start(): void {
    this.expect('start', this.#supervisor.start()).catch(ignore); // Stopped before it had a place.
    this.#observer?.start();
  }

  standDown(): Promise<void> {
    return this.stop();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.expect('stop', this.#supervisor.stop());
    await this.#observer?.stop();
  }

  resign(): void {
    this.expect('resign', this.#supervisor.resign()).catch(ignore); // The session may end before.
  }

  handOver(to: string): void {
    this.expect('handOver', this.#supervisor.handOver(to)).catch(ignore); // It may not lead any more.
  }

  session(): Promise<Session> {
    return this.#supervisor.session();
  }
}

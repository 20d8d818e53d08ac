import { ElectionSupervisor } from '../cluster/supervisor/supervisor.js';
import type { Term } from '../election/term/term.js';
import { describe, LeadError, StopPendingError, WorkOverrunError } from '../errors.js';
import { deferred, ignore } from '../platform/async/promises.js';
import { systemEnvironment } from '../platform/environment.js';
import type { Timer } from '../platform/time/clock.js';
import type { Session } from '../session/session.js';
import { codeOfError, codeOfSignal, EXIT } from './exit-codes.js';
import type { CandidacyOptions } from './options/candidacy.js';
import { asProblem, type Target } from './options/connection.js';
import { printable } from './output.js';

/** What there is to know for whoever leads. */
export interface Leadership {
  readonly term: Term;
  /** What it is led with. */
  readonly session: Session;
  /** How long a lease is, in milliseconds. */
  readonly leaseMs: number;
  /** What the candidate calls itself. */
  readonly id: string;
}

/** What is done by who leads. */
export interface LeaderWork {
  /** The signals that it hears while it leads. */
  readonly signals: readonly NodeJS.Signals[];
  /** It has a place in the queue, with this session. */
  waits?(session: Session): void;
  /** The leader's work: the term is given back when it has settled. Gives the exit code, or `undefined` to stand again. */
  lead(leadership: Leadership): Promise<number | undefined>;
  /** A signal has come, while it leads. */
  signal(name: NodeJS.Signals): void;
  /** Somebody asks it to step down. Resolves when it may. */
  stepDown(graceMs: number): Promise<void>;
}

/** Where one stands: not elected yet, or not again; leading; or with nothing left to do but to exit with `code`. */
type State =
  | { readonly name: 'waiting' }
  | { readonly name: 'leading' }
  | { readonly name: 'over'; readonly code: number };

/** What ends one who waits. The others are for the leader's work, and nothing to one who waits. */
const LEAVE = ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP'] as const;
const { clock } = systemEnvironment;

/**
 * Stands in an election for as long as the command line says, and fills an office while it leads. Gives the exit code.
 *
 * @throws Problem if an option is wrong
 */
export async function campaign(
  election: string,
  target: Target,
  options: CandidacyOptions,
  office: LeaderWork,
): Promise<number> {
  let candidate: Candidate;
  try {
    candidate = new Candidate(election, target, options, office);
  } catch (error) {
    throw asProblem(error);
  }
  return await candidate.run();
}

class Candidate {
  readonly #supervisor: ElectionSupervisor;
  readonly #office: LeaderWork;
  readonly #options: CandidacyOptions;
  readonly #target: Target;
  readonly #over = deferred();
  #state: State = { name: 'waiting' };
  #waitTimer: Timer | undefined;

  /** @throws InvalidOptionError if an option is wrong */
  constructor(path: string, target: Target, options: CandidacyOptions, office: LeaderWork) {
    this.#office = office;
    this.#options = options;
    this.#target = target;
    this.#supervisor = new ElectionSupervisor({
      ...target,
      path,
      priority: options.priority,
      // A guardian would give back what is led while the command still has its grace: its keeper winds up, after that.
      guardian: office.waits === undefined,
      ...(options.id !== undefined && { id: options.id }),
      ...(options.data !== undefined && { data: options.data }),
      ...(options.seats !== undefined && { seats: options.seats }),
      ...(options.takeoverDelay !== undefined && { takeoverDelayMs: options.takeoverDelay }),
      lead: (term) => this.#lead(term),
      onRevoke: async ({ by, graceMs }) => {
        this.#tell(`asked to step down by ${printable(by)}`);
        await office.stepDown(graceMs);
        return true;
      },
    });
  }

  /** Stands, until there is nothing more to do. Gives the exit code. */
  async run(): Promise<number> {
    const signals = new Set([...LEAVE, ...this.#office.signals]);
    const onSignal = (name: NodeJS.Signals) => this.#onSignal(name);
    for (const signal of signals) process.on(signal, onSignal);
    this.#listen();
    this.#supervisor.start().catch((error: unknown) => this.#fail(error));
    const noServer = this.#giveUpWithoutServer();
    if (this.#options.waitTimeout !== undefined)
      this.#waitTimer = clock.after(this.#options.waitTimeout, () => this.#giveUp('in time'));
    await this.#over.promise;
    this.#waitTimer?.clear();
    await this.#supervisor.stop();
    noServer.clear();
    for (const signal of signals) process.off(signal, onSignal);
    return this.#state.name === 'over' ? this.#state.code : EXIT.ok;
  }

  async #lead(term: Term): Promise<void> {
    // Not the next session, if this one ends at this moment.
    const session = await this.#supervisor.session(term.signal);
    // A signal, or the end of the wait, may have come between the claim and now.
    if (this.#state.name !== 'waiting' || !term.isHeld()) return;
    this.#waitTimer?.clear();
    this.#state = { name: 'leading' };
    this.#tell(`elected for term ${term.number}`);
    const code = await this.#office.lead({
      term,
      session,
      leaseMs: session.leaseMs,
      id: this.#supervisor.id,
    });
    this.#state = { name: 'waiting' };
    if (code !== undefined) this.#finish(code);
  }

  #onSignal(name: NodeJS.Signals): void {
    const ends = (LEAVE as readonly string[]).includes(name);
    if (this.#state.name === 'leading') this.#office.signal(name);
    // It is leaving already, and may wait for servers: who asks twice doesn't want to wait.
    else if (this.#state.name === 'over' && ends) process.exit(codeOfSignal(name));
    else if (ends) this.#finish(codeOfSignal(name));
  }

  #listen(): void {
    this.#supervisor
      .on('waiting', ({ position }) => {
        this.#tell(`waiting, with ${position} ahead`);
        void this.#supervisor.session().then((session) => this.#office.waits?.(session), ignore); // Or it is stopping.
        if (!this.#options.wait) this.#giveUp('at once');
      })
      .on('demoted', (term, reason) => this.#tell(`term ${term.number} is over: ${reason}`))
      .on('expired', () => this.#tell('the session has expired'))
      .on('error', (error) => {
        if (error instanceof LeadError) this.#fail(error.cause);
        // While it leads, the end of its term is what ends it.
        else if (this.#state.name === 'waiting' && codeOfError(error) !== undefined) this.#fail(error);
        // Who was stopped doesn't know yet, when it goes on, that its keeper has ended the command. How long that takes the
        // command line says.
        else if (!(error instanceof WorkOverrunError || error instanceof StopPendingError))
          printError(describe(error));
      });
  }

  /** A wrong address shows at the start. Servers that go away later are waited for. */
  #giveUpWithoutServer(): Timer {
    const { connectTimeoutMs } = this.#target.session;
    const timer = clock.after(connectTimeoutMs, () => {
      this.#finish(EXIT.unavailable, `no server of ${this.#target.connect} in ${connectTimeoutMs} ms`);
    });
    this.#supervisor.session().then(
      () => timer.clear(),
      () => timer.clear(), // It has stopped, and whatever stopped it has told.
    );
    return timer;
  }

  #giveUp(when: string): void {
    if (this.#state.name === 'waiting') this.#finish(EXIT.notInTime, `not elected ${when}`);
  }

  #fail(error: unknown): void {
    this.#finish(codeOfError(error) ?? EXIT.unavailable, describe(error));
  }

  /** The first word counts. */
  #finish(code: number, message?: string): void {
    if (this.#state.name === 'over') return;
    if (message !== undefined) printError(message);
    this.#state = { name: 'over', code };
    this.#over.resolve();
    void this.#supervisor.stop(); // Waited for in `run`; from here, it may be the leader's own work that asks.
  }

  #tell(message: string): void {
    if (this.#options.verbose) printError(message);
  }
}

/** Says something on standard error, where nothing of the command's output is. */
export function printError(message: string): void {
  console.error(`conclave: ${message}`);
}

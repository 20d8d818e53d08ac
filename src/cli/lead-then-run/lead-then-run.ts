import { ElectionSupervisor } from '../../cluster/supervisor/election-supervisor.js';
import type { Term } from '../../election/term/term.js';
import { describe, LeadError, StopPendingError, WorkOverrunError } from '../../errors.js';
import { deferred, ignore } from '../../platform/async/promises.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import type { Timer } from '../../platform/time/clock.js';
import type { CandidateArguments } from '../options/candidate-options.js';
import { type Target, unreachable } from '../options/connection-options.js';
import { EXIT, exitCodeOfError, exitCodeOfSignal, orUserError } from '../process/exit-codes.js';
import { printError } from '../process/output.js';
import { END_SIGNALS, FORWARDED_SIGNALS, LEAVE_SIGNALS } from '../process/stop-signals.js';
import { kindOfChild } from '../prune/prunable-elections.js';
import type { CommandWork } from './leader-command.js';

/**
 * `waiting`: for its first term, or for the next. `finished`: all that is left is to stop and to exit with `exitCode`, within
 * `stopWithinMs`.
 */
type State =
  | { readonly name: 'waiting' }
  | { readonly name: 'leading' }
  | { readonly name: 'finished'; readonly exitCode: number; readonly stopWithinMs: number };

const { clock } = systemEnvironment;

// Leaving the queue takes a round trip or two. Only a server that hangs takes longer, and it mustn't hold up a command with a limit.
const LEAVE_WITHIN_MS = 500;

const SIGNALS = [...END_SIGNALS, ...FORWARDED_SIGNALS]; // With all of `LEAVE_SIGNALS`.

/** Campaigns, and runs the command in each term. Closes the work, and resolves with the exit code. @throws UserError if an option is wrong */
export async function campaignThenRun(
  election: string,
  target: Target,
  options: CandidateArguments,
  work: CommandWork,
): Promise<number> {
  try {
    return await orUserError(() => new Campaign(election, target, options, work)).run();
  } finally {
    work.close();
  }
}

class Campaign {
  readonly #supervisor: ElectionSupervisor;
  readonly #work: CommandWork;
  readonly #path: string;
  readonly #options: CandidateArguments;
  readonly #target: Target;
  readonly #finished = deferred<Extract<State, { name: 'finished' }>>();
  #state: State = { name: 'waiting' };
  #waitTimer: Timer | undefined;

  /** @throws InvalidOptionError if an option is wrong */
  constructor(path: string, target: Target, options: CandidateArguments, work: CommandWork) {
    this.#work = work;
    this.#path = path;
    this.#options = options;
    this.#target = target;
    this.#supervisor = new ElectionSupervisor({
      ...{ connect: target.connect, session: target.session },
      path,
      priority: options.priority,
      id: options.id,
      data: options.data,
      takeoverDelayMs: options.takeoverDelay,
      // A guardian would give leadership back in the command's grace. The keeper closes the session instead, after the command.
      guardian: false,
      lead: (term) => this.#lead(term),
      onRevoke: async ({ by, graceMs }) => {
        this.#printIfVerbose(`asked to step down by ${by}`);
        await work.stepDown(graceMs);
        return true;
      },
    });
  }

  /** Campaigns until the work is finished, then stops. Resolves with the exit code. */
  async run(): Promise<number> {
    const onSignal = (name: NodeJS.Signals) => this.#onSignal(name);
    for (const signal of SIGNALS) process.on(signal, onSignal);
    this.#listen();
    void this.#work.unable.then((reason) => this.#finish(EXIT.system, reason));
    void this.#work.done?.then((reason) => {
      if (this.#state.name !== 'waiting') return;
      this.#printIfVerbose(reason);
      this.#finish(EXIT.ok, undefined, LEAVE_WITHIN_MS);
    });
    this.#supervisor.start().catch((error: unknown) => this.#fail(error));
    const connectTimer = this.#limitFirstConnect();
    void this.#warnOfFolder().catch(ignore); // Nothing depends on it.
    if (this.#options.waitTimeout !== undefined)
      this.#waitTimer = clock.after(this.#options.waitTimeout, () => this.#giveUp('in time'));
    const { exitCode, stopWithinMs } = await this.#finished.promise;
    this.#waitTimer?.clear();
    const exitTimer = Number.isFinite(stopWithinMs)
      ? clock.after(stopWithinMs, () => process.exit(exitCode)) // The keeper closes the session then, as after a kill.
      : undefined;
    await this.#supervisor.stop();
    exitTimer?.clear();
    connectTimer.clear();
    for (const signal of SIGNALS) process.off(signal, onSignal);
    return exitCode;
  }

  async #lead(term: Term): Promise<void> {
    // The signal makes sure that this isn't the next session, if the term's own session ends at this moment.
    const session = await this.#supervisor.session(term.signal);
    // A signal may have come since the claim, or the time to wait may be over.
    if (this.#state.name !== 'waiting' || !term.isHeld()) return;
    this.#waitTimer?.clear();
    this.#state = { name: 'leading' };
    this.#printIfVerbose(`elected for term ${term.number}`);
    const exitCode = await this.#work.lead({ term, session, id: this.#supervisor.id });
    if (this.#isFinished()) return;
    this.#state = { name: 'waiting' };
    if (exitCode !== undefined) this.#finish(exitCode);
  }

  #onSignal(name: NodeJS.Signals): void {
    const leaves = LEAVE_SIGNALS.includes(name);
    if (this.#state.name === 'leading' && this.#work.onSignal(name)) return;
    // It is stopping already, perhaps waiting for servers: a user who signals twice doesn't want to wait.
    if (this.#state.name === 'finished' && leaves) process.exit(exitCodeOfSignal(name));
    else if (leaves) this.#finish(exitCodeOfSignal(name));
  }

  #listen(): void {
    this.#supervisor
      .on('waiting', ({ position }) => {
        this.#printIfVerbose(`waiting, with ${position} ahead`);
        // Rejects if the supervisor is stopping.
        void this.#supervisor.session().then((session) => this.#work.onWaiting(session), ignore);
        if (!this.#options.wait) this.#giveUp('at once');
      })
      .on('demoted', (term, reason) => this.#printIfVerbose(`term ${term.number} is over: ${reason}`))
      .on('expired', () => this.#printIfVerbose('the session has expired'))
      .on('error', (error) => {
        if (error instanceof LeadError) this.#fail(error.cause);
        // A leader finishes with its term, not by an error.
        else if (this.#state.name === 'waiting' && exitCodeOfError(error) !== undefined) this.#fail(error);
        // A process that was stopped (SIGSTOP) doesn't know yet, when it goes on, that its keeper has ended the command; and
        // how long an end may take is the command line's choice. So work that overruns isn't worth a message.
        else if (!(error instanceof WorkOverrunError || error instanceof StopPendingError))
          printError(describe(error));
      });
  }

  /** A wrong address shows at the start. Servers that go away later are waited for. */
  #limitFirstConnect(): Timer {
    const { connectTimeoutMs } = this.#target.session;
    const timer = clock.after(connectTimeoutMs, () => this.#fail(unreachable(this.#target)));
    const clear = () => timer.clear();
    this.#supervisor.session().then(clear, clear); // Rejects if it was stopped: the reason has been printed then.
    return timer;
  }

  /** Many elections are below a folder. If one takes that for the election, the folder becomes one. */
  async #warnOfFolder(): Promise<void> {
    const session = await this.#supervisor.session();
    const names = await session.getChildren(this.#path);
    const below = names.find((name) => kindOfChild(name) === 'other');
    if (below === undefined) return;
    const name = `${this.#path}/${below}`;
    printError(
      `${this.#path} has other nodes below it, ${name} for one. If it is a folder of elections, end this command, and make it a folder again with conclave prune ${this.#path} --yes`,
    );
  }

  #isFinished(): boolean {
    return this.#state.name === 'finished';
  }

  #giveUp(when: string): void {
    if (this.#state.name === 'waiting') this.#finish(EXIT.notInTime, `not elected ${when}`, LEAVE_WITHIN_MS);
  }

  #fail(error: unknown): void {
    this.#finish(exitCodeOfError(error) ?? EXIT.unavailable, describe(error));
  }

  /** The first exit code counts. */
  #finish(exitCode: number, message?: string, stopWithinMs = Number.POSITIVE_INFINITY): void {
    if (this.#state.name === 'finished') return;
    if (message !== undefined) printError(message);
    this.#state = { name: 'finished', exitCode, stopWithinMs };
    this.#finished.resolve(this.#state);
    void this.#supervisor.stop(); // `run` waits for it. The caller may be the leader's own work, for which `stop` waits.
  }

  #printIfVerbose(message: string): void {
    if (this.#options.verbose) printError(message);
  }
}

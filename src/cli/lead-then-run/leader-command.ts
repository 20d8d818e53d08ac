import { openSessionOf } from '../../cluster/dead-children/guarded-process.js';
import { withFileLimitOf } from '../../cluster/run-command/command-processes.js';
import { KeeperHandle, runWhileHeld } from '../../cluster/run-command/keeper-handle.js';
import type { CommandLine } from '../../cluster/run-command/keeper-messages.js';
import type { Term } from '../../election/term/term.js';
import { describe } from '../../errors.js';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import { deferred } from '../../platform/async/promises.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import type { Session } from '../../session/session.js';
import { publicEnvironment, type Target } from '../options/connection-options.js';
import { type CommandRun, exitCodeOfRun, withSignal } from '../process/exit-codes.js';
import { printError } from '../process/output.js';
import { END_SIGNALS, LEAVE_SIGNALS } from '../process/stop-signals.js';

const { clock } = systemEnvironment;

const KEEPER_NEEDS =
  "Node must be able to load Conclave's files from a folder, which it can't with Yarn's Plug'n'Play (set nodeLinker: node-modules)";

export interface CommandLeadership {
  readonly term: Term;
  readonly session: Session; // The session that holds the term.
  readonly id: string; // The candidate's id.
}

/** A command that runs while this process leads. */
export interface LeaderCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly election: string;
  readonly graceMs: number;
  readonly restart: boolean; // Whether to campaign again when the command has ended, or leadership was lost.
  readonly target: Target; // Where the servers are, for the keeper.
}

/** The leader's work of `conclave run`: runs a command in each term. */
export class CommandWork {
  readonly done?: Promise<string>; // Resolves with the reason when another process has done the work. Only counts while it waits.
  readonly #options: LeaderCommand;
  readonly #unable = deferred<string>();
  readonly #fileLimit = withFileLimitOf(process.ppid);
  #keeper = this.#startKeeper(); // Waits for the next command, so that a new leader needn't start a keeper first.
  #run: CommandRun | undefined; // While a command runs.

  constructor(options: LeaderCommand) {
    this.#options = options;
  }

  /** Resolves with the reason when no command can run any more, in whatever term. Never rejects. */
  get unable(): Promise<string> {
    return this.#unable.promise;
  }

  /** Called when the candidate has a place in the queue, with the session that holds it. */
  onWaiting(session: Session): void {
    this.#registerCleanup(session);
  }

  /** The term is given back when it has settled. Resolves with the exit code, or `undefined` to campaign again. */
  async lead({ term, session, id }: CommandLeadership): Promise<number | undefined> {
    const { graceMs, restart } = this.#options;
    if (this.#keeper.hasEnded) this.#keeper = this.#startKeeper(); // It was killed while it waited.
    this.#registerCleanup(session, term);
    const keeper = this.#keeper;
    this.#run = { forwarded: [] };
    const unsubscribe = onAbort(term.signal, () => this.#onLoss(describe(term.signal.reason)));
    const line = this.#commandLine(term, id);
    const outcome = await runWhileHeld(term, keeper, line, { clock, leaseMs: session.leaseMs, graceMs });
    unsubscribe();
    const exitCode = exitCodeOfRun(outcome, this.#run, restart);
    if (outcome.kind === 'refused') printError(`the command was not started: ${outcome.reason}`);
    this.#run = undefined;
    if (exitCode === undefined) this.#keeper = this.#startKeeper();
    return exitCode;
  }

  /** Called for each signal while it leads. Returns `false` if there is no command yet that it is for. */
  onSignal(name: NodeJS.Signals): boolean {
    if (this.#run === undefined) return false;
    // As long as the keeper itself starts, there is no command that could get the signal.
    const ending = this.#keeper.hasCommand ? END_SIGNALS : LEAVE_SIGNALS;
    this.#run = withSignal(this.#run, name, ending);
    if (ending.includes(name)) this.#keeper.end(name);
    else this.#keeper.forward(name);
    return true;
  }

  /** Called when another client asks the leader to step down. Resolves when it may. */
  async stepDown(graceMs: number): Promise<void> {
    if (this.#run === undefined) return;
    this.#onLoss('it was asked to step down');
    this.#keeper.end('SIGTERM', Math.min(graceMs, this.#options.graceMs));
    await this.#keeper.outcome;
  }

  /** Dismisses the keeper that waits for the next command. */
  close(): void {
    this.#keeper.dismiss();
  }

  /** The keeper's environment has no credentials: it is sent them over its channel. */
  #startKeeper(): KeeperHandle {
    const onLeaseRunningOut = () => this.#onLoss('the lease was not renewed in time');
    const keeper = new KeeperHandle(systemEnvironment, publicEnvironment(), onLeaseRunningOut);
    void keeper.outcome.then((outcome) => {
      if (outcome.kind === 'no-keeper')
        this.#unable.resolve(`the keeper can't start: ${outcome.reason}; ${KEEPER_NEEDS}`);
    });
    return keeper;
  }

  /** Tells the keeper which session to close, and which term to give back, if this process is killed. */
  #registerCleanup(session: Session, term?: Term): void {
    const { connect, session: sessionOptions, tlsFiles } = this.#options.target;
    this.#keeper.registerCleanup({
      parentPid: process.pid,
      ...{ connect, auth: sessionOptions.auth, sasl: sessionOptions.sasl, tlsFiles },
      openSession: openSessionOf(session, term),
    });
  }

  /** The first reason counts. */
  #onLoss(reason: string): void {
    if (this.#run === undefined || this.#run.lossReason !== undefined) return;
    printError(`leadership lost: ${reason}; ending the command`);
    this.#run = { ...this.#run, lossReason: reason };
  }

  #commandLine(term: Term, id: string): CommandLine {
    const { command, args, election } = this.#options;
    const env = {
      ...publicEnvironment(),
      CONCLAVE_ELECTION: election,
      CONCLAVE_ID: id,
      CONCLAVE_TERM: String(term.number),
      CONCLAVE_TOKEN: String(term.token),
    };
    const [program = command, ...words] = [...this.#fileLimit, command, ...args];
    return { command: program, args: words, env };
  }
}

import { keepWhileHeld } from '../cluster/command/keep-while-held.js';
import { type CommandOutcome, KeeperProcess } from '../cluster/command/keeper-process.js';
import { openSessionOf } from '../cluster/guardian/guarded-process.js';
import type { Term } from '../election/term/term.js';
import { describe } from '../errors.js';
import { onAbort } from '../platform/async/lazy-abort.js';
import { systemEnvironment } from '../platform/environment.js';
import { parseConnectString } from '../session/connection/connect-string.js';
import type { Session } from '../session/session.js';
import { type Leadership, type LeaderWork, printError } from './campaign.js';
import { codeOfSignal, EXIT } from './exit-codes.js';
import { publicEnvironment, type Target } from './options/connection.js';

/** A command that is to run while this process leads. */
export interface LeaderCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly election: string;
  readonly graceMs: number;
  /** Whether to stand again when it has ended, or leadership was lost. */
  readonly restart: boolean;
  /** Where the servers are, for its keeper. */
  readonly target: Target;
}

/** What came to pass while a command ran, besides its end. */
export interface CommandRun {
  /** The first signal by which the user asked for the end. */
  readonly told?: NodeJS.Signals | undefined;
  /** Why leadership was lost, if it was. */
  readonly lost?: string | undefined;
  /** The signals that were sent on. */
  readonly forwarded: ReadonlySet<NodeJS.Signals>;
}

/** By these the user asks for the end: what has not ended when the grace is over is killed. */
const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGQUIT'];
/** These are the command's alone: to many a one SIGHUP says that its configuration has changed. */
const PASSED_ON: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'];
const { clock } = systemEnvironment;

/**
 * What to exit with when the command has ended; `undefined`: stand again. What the user asked for comes first, then the
 * loss of leadership, whatever the command itself says of how it ended.
 */
export function exitCode(
  outcome: CommandOutcome,
  { told, lost, forwarded }: CommandRun,
  restart: boolean,
): number | undefined {
  const signal = outcome.kind === 'ended' ? outcome.signal : null;
  const endedByUser = told !== undefined || (signal !== null && forwarded.has(signal));
  if (restart && !endedByUser) return undefined;
  if (told === undefined && lost !== undefined) return EXIT.lost;
  switch (outcome.kind) {
    case 'ended':
      return outcome.signal === null ? (outcome.code ?? EXIT.system) : codeOfSignal(outcome.signal);
    case 'too-late':
      return told === undefined ? EXIT.lost : codeOfSignal(told);
    case 'refused':
      return EXIT.system;
  }
}

/** What it has to tell the servers it is told over its channel. */
function newKeeper(): KeeperProcess {
  return new KeeperProcess(systemEnvironment, publicEnvironment());
}

/** Runs a command while it leads. */
export class CommandWork implements LeaderWork {
  readonly signals = [...ENDING, ...PASSED_ON];
  readonly #what: LeaderCommand;
  /** Waits for the next command, so that a new leader needn't start it first. */
  #keeper = newKeeper();
  #course: CommandRun | undefined;

  constructor(what: LeaderCommand) {
    this.#what = what;
  }

  waits(session: Session): void {
    this.#bequeath(session);
  }

  async lead({ term, session, leaseMs, id }: Leadership): Promise<number | undefined> {
    const { graceMs, restart } = this.#what;
    if (this.#keeper.hasEnded) this.#keeper = newKeeper(); // Somebody has killed it while it waited.
    this.#bequeath(session, term);
    const keeper = this.#keeper;
    this.#course = { forwarded: new Set() };
    keeper.once('running-out', () => this.#lose('the lease was not renewed in time'));
    const forget = onAbort(term.signal, () => this.#lose(describe(term.signal.reason)));
    const outcome = await keepWhileHeld(term, keeper, this.#line(term, id), { clock, leaseMs, graceMs });
    forget();
    const code = exitCode(outcome, this.#course, restart);
    if (outcome.kind === 'refused') printError(`the command was not started: ${outcome.why}`);
    this.#course = undefined;
    if (code === undefined) this.#keeper = newKeeper();
    return code;
  }

  signal(name: NodeJS.Signals): void {
    if (this.#course === undefined) return;
    if (!ENDING.includes(name)) {
      this.#course = { ...this.#course, forwarded: new Set([...this.#course.forwarded, name]) };
      return this.#keeper.forward(name);
    }
    this.#course = { ...this.#course, told: this.#course.told ?? name };
    this.#keeper.end(name);
  }

  async stepDown(graceMs: number): Promise<void> {
    if (this.#course === undefined) return;
    this.#lose('it was asked to step down');
    this.#keeper.end('SIGTERM', Math.min(graceMs, this.#what.graceMs));
    await this.#keeper.outcome;
  }

  /** It isn't needed any more. */
  close(): void {
    this.#keeper.dismiss();
  }

  /** What is to be closed if this process is killed. */
  #bequeath(session: Session, term?: Term): void {
    const { connect, session: options } = this.#what.target;
    const { auth, tls } = options;
    this.#keeper.inherit({
      of: process.pid,
      servers: { ...parseConnectString(connect), chroot: '' },
      session: { ...(auth !== undefined && { auth }), ...(tls !== undefined && { tls }) },
      estate: openSessionOf(session, term),
    });
  }

  #lose(why: string): void {
    if (this.#course === undefined || this.#course.lost !== undefined) return;
    printError(`leadership lost: ${why}; ending the command`);
    this.#course = { ...this.#course, lost: why };
  }

  #line(term: Term, id: string) {
    const { command, args, election } = this.#what;
    const env = {
      ...publicEnvironment(),
      CONCLAVE_ELECTION: election,
      CONCLAVE_ID: id,
      CONCLAVE_SEAT: String(term.seat),
      CONCLAVE_TERM: String(term.number),
      CONCLAVE_TOKEN: String(term.token),
    };
    return { command, args, env };
  }
}

import { constants } from 'node:os';
import type { Term } from '../../election/term/term.js';
import { describe, InvalidOptionError } from '../../errors.js';
import { runOutside, runWithin, WorkContext } from '../../platform/async/work-context.js';
import { checkFunction, checkOptions, checkPositiveMs } from '../../platform/checks.js';
import { isLastResort, type Logger } from '../../platform/logging/logger.js';
import type { Clock } from '../../platform/time/clock.js';
import { isGuarded } from '../guardian/guardian-link.js';
import type { SupervisorState } from './health.js';

/** What a shutdown tells its clean-up hook. */
export interface Shutdown {
  /** The signal that asked for it. */
  readonly signal: NodeJS.Signals;
  /** The term that it ends, if this process led: over, but its transactions are carried out until the hook has settled. */
  readonly term: Term | undefined;
  /** How much of the deadline is left, in milliseconds: then the process ends, whatever it is doing. */
  remainingMs(): number;
}

/** How `ElectionSupervisor.shutdownOn` ends the process. */
export interface ShutdownOptions {
  /**
   * The application's clean-up. Called once, when the leader's work has settled and before leadership is given back, so
   * that nobody else leads yet; in a process that doesn't lead, before its session is closed. If it fails that is
   * reported, and the shutdown goes on. It isn't called again. The supervisor's `cleanup` is for what a *lost* session leaves
   * behind: when one was lost before, that is called first, and this one last.
   */
  readonly cleanup?: (shutdown: Shutdown) => unknown;
  /** How long all of it may take, in milliseconds. @default 10000 */
  readonly deadlineMs?: number;
  /** What the process exits with when all has ended well. @default 0 */
  readonly exitCode?: number;
}

/** What a process that was shut down exits with, unless all has ended well; after a second signal 128 and its number. */
export const SHUTDOWN_EXIT = {
  /** The shutdown's clean-up has failed, or the supervisor's after a loss stays outstanding. */
  cleanupFailed: 1,
  /** The deadline was over, as after `timeout` of the GNU tools. */
  deadline: 124,
} as const;

/** @internal Options that were checked, with their defaults. */
export interface ResolvedShutdown {
  readonly signals: readonly NodeJS.Signals[];
  readonly cleanup: ShutdownOptions['cleanup'];
  readonly deadlineMs: number;
  readonly exitCode: number;
}

/** @internal What a shutdown needs of the supervisor that it stops. */
export interface Leaver {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly state: SupervisorState;
  /**
   * Leaves the election; once its work has settled, and before it gives anything back, has `cleanUp` done. Gives the error of
   * its own clean-up after a loss, if that stays outstanding. Never rejects.
   */
  leave(cleanUp: () => Promise<void>): Promise<Error | undefined>;
}

/** How far it has come: the leader's work settles, the hook runs, what is held is given back. */
type Progress = 'settling' | 'cleaning' | 'leaving';

/** The signal that asked for it, and when, by the clock. */
interface Demand {
  readonly signal: NodeJS.Signals;
  readonly atMs: number;
}

type ShutdownState =
  | { readonly name: 'armed' }
  | ({ readonly name: 'under way'; readonly progress: Progress } & Demand)
  | { readonly name: 'disarmed' };

/** Ends the process at a signal, once: stop work, clean up, resign, close, exit. */
export class SignalShutdown {
  /** What is done in its hook. */
  readonly cleaning = new WorkContext();
  readonly #options: ResolvedShutdown;
  readonly #leaver: Leaver;
  #state: ShutdownState = { name: 'armed' };
  #hasFailed = false;

  /** Listens to the signals from now on. */
  constructor(options: ResolvedShutdown, leaver: Leaver) {
    this.#options = options;
    this.#leaver = leaver;
    for (const signal of options.signals) process.on(signal, this.#onSignal);
  }

  get isDisarmed(): boolean {
    return this.#state.name === 'disarmed';
  }

  /** Listens no more. Once a signal has come it goes on to the end: a second one still has to be heard. */
  disarm(): void {
    if (this.#state.name !== 'armed') return;
    this.#state = { name: 'disarmed' };
    for (const signal of this.#options.signals) process.off(signal, this.#onSignal);
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    const demand = { signal, atMs: this.#leaver.clock.now() };
    if (this.#state.name === 'under way') {
      if (isEcho(demand, this.#state)) return;
      // The whole process group was told, and now the parent tells again, in its turn: it would kill if it couldn't wait.
      if (signal === this.#state.signal && isGuarded()) return;
      this.#exit(128 + constants.signals[signal], `${signal} during the shutdown: exiting at once`);
    }
    this.#state = { name: 'under way', progress: 'settling', ...demand };
    void runOutside(() => this.#shutDown(demand)); // Whatever the signal came in the midst of. Never rejects.
  };

  async #shutDown({ signal, atMs }: Demand): Promise<void> {
    const { cleanup, deadlineMs, exitCode } = this.#options;
    const { clock, logger, state } = this.#leaver;
    const deadlineAt = atMs + deadlineMs;
    clock.after(deadlineMs, () => this.#giveUp(signal)); // It needs no end: the process has one before.
    logger.info({ signal, deadlineMs }, 'shutting down');
    const remainingMs = () => Math.max(0, deadlineAt - clock.now());
    const shutdown: Shutdown = { signal, term: termOf(state), remainingMs };
    let cleaned: Promise<void> | undefined;
    const cleanUp = () => (cleaned ??= this.#cleanUp(() => cleanup?.(shutdown)));
    const outstanding = await this.#leaver.leave(cleanUp);
    if (outstanding !== undefined) {
      this.#hasFailed = true;
      this.#say(outstanding.message);
    }
    await cleanUp(); // A supervisor that was never started has nothing to give back.
    this.#exit(this.#hasFailed ? SHUTDOWN_EXIT.cleanupFailed : exitCode);
  }

  async #cleanUp(hook: () => unknown): Promise<void> {
    this.#proceedTo('cleaning');
    try {
      await runWithin(this.cleaning, hook);
    } catch (cause) {
      this.#hasFailed = true;
      this.#say(`the clean-up of the shutdown failed: ${describe(cause)}`);
    }
    this.#proceedTo('leaving');
  }

  #proceedTo(progress: Progress): void {
    if (this.#state.name === 'under way') this.#state = { ...this.#state, progress };
  }

  /** What hangs may still be acting, so nothing is given back: the lease ends as after a kill. */
  #giveUp(signal: NodeJS.Signals): void {
    const progress = this.#state.name === 'under way' ? this.#state.progress : 'leaving';
    const left = whatIsLeft(progress, this.#leaver.state);
    this.#exit(
      SHUTDOWN_EXIT.deadline,
      `no end of the shutdown within ${this.#options.deadlineMs} ms of ${signal}: ${left}; exiting with code ${SHUTDOWN_EXIT.deadline}`,
    );
  }

  #say(message: string): void {
    if (!isLastResort(this.#leaver.logger)) this.#leaver.logger.error({}, message); // Else it would be said twice.
    process.stderr.write(`conclave: ${message}\n`);
  }

  /** The only place that ends the process. */
  #exit(code: number, message?: string): never {
    if (message !== undefined) this.#say(message);
    else this.#leaver.logger.info({ code }, 'shut down');
    process.exit(code);
  }
}

// What a person needs for a second Ctrl-C is longer.
const ECHO_MS = 100;

/** Ctrl-C goes to all processes of a terminal, and `npm` then hands it on to its own: that is one demand, and not two. */
function isEcho(demand: Demand, first: Demand): boolean {
  return demand.signal === first.signal && demand.atMs - first.atMs < ECHO_MS;
}

/** What a shutdown that hangs is waiting for, in words. */
export function whatIsLeft(progress: Progress, state: SupervisorState): string {
  if (state.name === 'cleaning') return "the supervisor's clean-up hook still runs";
  const elector = 'elector' in state ? state.elector.state : undefined;
  switch (progress) {
    case 'settling': {
      const term = termOf(state);
      return term === undefined
        ? 'the election has still to be left'
        : `the work of term ${term.number} still runs`;
    }
    case 'cleaning':
      return 'the clean-up of the shutdown still runs';
    case 'leaving': {
      const released = elector === undefined || elector.name === 'stopped' || elector.name === 'expired';
      return released
        ? 'the session has still to be closed'
        : 'the place in the election has still to be given back';
    }
  }
}

function termOf(state: SupervisorState): Term | undefined {
  const elector = 'elector' in state ? state.elector.state : undefined;
  return elector !== undefined && 'term' in elector ? elector.term : undefined;
}

/** @throws InvalidOptionError naming the option */
export function resolveShutdown(signals: unknown, given: unknown): ResolvedShutdown {
  const options = checkOptions<ShutdownOptions>('shutdown', given, ['cleanup', 'deadlineMs', 'exitCode']);
  return {
    signals: checkSignals(signals),
    cleanup: checkFunction('shutdown.cleanup', options.cleanup),
    deadlineMs: checkPositiveMs('shutdown.deadlineMs', options.deadlineMs, 10_000),
    exitCode: checkExitCode(options.exitCode),
  };
}

// Nobody is asked about these two.
const NOT_CAUGHT = ['SIGKILL', 'SIGSTOP'];

function checkSignals(value: unknown): readonly NodeJS.Signals[] {
  const isSignal = (each: unknown): each is NodeJS.Signals =>
    typeof each === 'string' && Object.hasOwn(constants.signals, each) && !NOT_CAUGHT.includes(each);
  if (Array.isArray(value) && value.length > 0 && value.every(isSignal)) return [...new Set(value)];
  throw new InvalidOptionError('signals', value, 'an array of names of signals that a process can handle');
}

function checkExitCode(value: unknown): number {
  if (value === undefined) return 0;
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > 255)
    throw new InvalidOptionError('shutdown.exitCode', value, 'a whole number from 0 to 255');
  return value as number;
}

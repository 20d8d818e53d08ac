import { constants } from 'node:os';
import type { Term } from '../../election/term/term.js';
import { describe, InvalidOptionError, InvalidStateError } from '../../errors.js';
import { isWithin, runOutside, runWithin, WorkContext } from '../../platform/async/work-context.js';
import {
  type Checked,
  type Checks,
  type ChecksOf,
  checkFunction,
  checkPositiveMs,
  checkWhole,
  readOptions,
} from '../../platform/checks.js';
import { stackLines } from '../../platform/logging/logged-error.js';
import { isLastResort, type Logger } from '../../platform/logging/logger.js';
import { printOnStandardError } from '../../platform/logging/lossy-output.js';
import type { Clock } from '../../platform/time/clock.js';
import { isGuarded } from '../dead-children/register-with-guardian.js';

/** The part that all shutdowns pass to their clean-up hooks. */
export interface ShutdownTime {
  /** The signal that began the shutdown. */
  readonly signal: NodeJS.Signals;
  /** How much time is left until the deadline, in milliseconds. At the deadline the process ends, even in the middle of its work. */
  remainingMs(): number;
}

/** A shutdown, as its clean-up hook gets it. */
export interface Shutdown extends ShutdownTime {
  /**
   * The term that the shutdown ends, if this process led. It has ended, but servers carry out its transactions until the hook has settled.
   */
  readonly term: Term | undefined;
}

/** When and how a shutdown ends the process. */
export interface ShutdownLimits {
  /**
   * How long the whole shutdown may take, in milliseconds. The default is shorter than the 10 s after which `docker stop` kills.
   * @default 8000
   */
  readonly deadlineMs?: number;
  /** The exit code of the process when all has ended well. @default 0 */
  readonly exitCode?: number;
}

/** How `ElectionSupervisor.shutdownOn` ends the process. */
export interface ShutdownOptions extends ShutdownLimits {
  /**
   * The application's clean-up. The shutdown calls it once, when the leader's work has settled and before it gives leadership back. As
   * long as the session's heartbeats arrive, no other process leads meanwhile. In a process that doesn't lead, the shutdown calls it
   * before it closes the session. If the clean-up fails, the shutdown reports that and goes on. The supervisor's `cleanup` is for the
   * state that a *lost* term or session leaves behind. If one was lost before, the supervisor calls that hook first, and this one last.
   */
  readonly cleanup?: (shutdown: Shutdown) => unknown;
}

/** Exit codes of a shutdown that went wrong; after a second signal it is 128 and the signal's number. */
export const SHUTDOWN_EXIT = {
  cleanupFailed: 1, // The shutdown's clean-up has failed, or the supervisor's clean-up after a loss is still outstanding.
  deadline: 124, // The deadline was over: the code of GNU `timeout`.
} as const;

/** The checks of the options that all shutdowns have in common. */
export const SHUTDOWN_CHECKS = {
  cleanup: checkFunction<(shutdown: never) => unknown>,
  deadlineMs: (name, value) => checkPositiveMs(name, value, 8000),
  exitCode: (name, value) => (value === undefined ? 0 : checkWhole(name, value, 0, 255)),
} satisfies ChecksOf<ShutdownOptions>;

/** @internal Options that were checked, with their defaults. */
export interface ResolvedShutdown extends Checked<typeof SHUTDOWN_CHECKS> {
  readonly signals: readonly NodeJS.Signals[];
}

/** @internal The part of the supervisor that a shutdown needs. */
export interface ShutdownPort<Held extends object = object> {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The term or the shards that the supervisor holds at this moment, for the hook. */
  held(): Held;
  /** What a shutdown that hangs waits for, in words. */
  whatIsLeft(progress: ShutdownProgress): string;
  /**
   * Leaves the election or the group, and calls {@link SignalShutdown.cleanUp} when the work has settled, before it gives anything
   * back. Resolves with the error of the supervisor's own clean-up after a loss, if that is still outstanding. Never rejects.
   */
  leave(): Promise<Error | undefined>;
}

/** @internal How far a shutdown has come: the work settles, the hook runs, what is held is given back. */
export type ShutdownProgress = 'settling' | 'cleaning' | 'leaving';

interface UnderWay<Held extends object> {
  readonly name: 'under way';
  readonly atMs: number; // When the signal came, by the clock.
  readonly shutdown: Held & ShutdownTime; // The hook's argument.
  readonly progress: ShutdownProgress;
  readonly exitCode: number; // The exit code of the process, as far as it is known by now.
}

/** armed → under way, to the end of the process; armed → disarmed. */
type ShutdownState<Held extends object> =
  | { readonly name: 'armed' }
  | UnderWay<Held>
  | { readonly name: 'disarmed' };

// A terminal sends Ctrl-C to all its processes, and `npm` hands it on to its child. A person needs longer for a second Ctrl-C.
const ECHO_MS = 100;

/** Ends the process in good order at the first of its signals: stop work, clean up, resign, close, exit. */
export class SignalShutdown<Held extends object = object> {
  readonly #options: ResolvedShutdown;
  readonly #port: ShutdownPort<Held>;
  readonly #cleaning = new WorkContext();
  #state: ShutdownState<Held> = { name: 'armed' };
  #cleaned: Promise<void> | undefined; // The one call of the hook.

  /** Listens to the signals from now on. */
  constructor(options: ResolvedShutdown, port: ShutdownPort<Held>) {
    this.#options = options;
    this.#port = port;
    for (const signal of options.signals) process.on(signal, this.#onSignal);
  }

  get isDisarmed(): boolean {
    return this.#state.name === 'disarmed';
  }

  get isWithinHook(): boolean {
    return isWithin(this.#cleaning);
  }

  /** Stops listening, unless a signal has come: then the shutdown goes on, and listens for a second signal. */
  disarm(): void {
    if (this.#state.name !== 'armed') return;
    this.#become({ name: 'disarmed' });
    for (const signal of this.#options.signals) process.off(signal, this.#onSignal);
  }

  /** Once a signal has come: calls the clean-up hook, once only, and resolves when that has settled. Never rejects. */
  cleanUp(): Promise<void> | undefined {
    if (this.#state.name === 'under way') this.#cleaned ??= this.#callHook(this.#state.shutdown);
    return this.#cleaned;
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    const { clock } = this.#port;
    const { deadlineMs, exitCode } = this.#options;
    const atMs = clock.now();
    if (this.#state.name === 'under way') {
      if (this.#isRepeated(signal, atMs, this.#state)) return;
      this.#exit(128 + constants.signals[signal], `${signal} during the shutdown: exiting at once`);
    }
    const remainingMs = () => Math.max(0, atMs + deadlineMs - clock.now());
    const shutdown = { ...this.#port.held(), signal, remainingMs };
    this.#become({ name: 'under way', atMs, shutdown, progress: 'settling', exitCode });
    void runOutside(() => this.#shutDown(signal)); // Outside of the work that the signal has interrupted. Never rejects.
  };

  /** Whether a second signal only repeats the first. Then it doesn't ask for an exit at once. */
  #isRepeated(signal: NodeJS.Signals, atMs: number, first: UnderWay<Held>): boolean {
    if (signal !== first.shutdown.signal) return false;
    // The whole process group of a guardian got the signal, and now the parent sends it, too. A parent that can't wait would send SIGKILL.
    return atMs - first.atMs < ECHO_MS || isGuarded();
  }

  async #shutDown(signal: NodeJS.Signals): Promise<void> {
    const { deadlineMs } = this.#options;
    const { clock, logger } = this.#port;
    clock.after(deadlineMs, () => this.#giveUp(signal)); // Nothing clears this timer: the process ends before.
    logger.info({ signal, deadlineMs }, 'shutting down');
    const outstanding = await this.#port.leave();
    if (outstanding !== undefined) this.#fail(outstanding.message);
    await this.cleanUp(); // A supervisor that was never started has nothing to give back.
    if (this.#state.name === 'under way') this.#exit(this.#state.exitCode);
  }

  async #callHook(shutdown: Held & ShutdownTime): Promise<void> {
    this.#update({ progress: 'cleaning' });
    try {
      await runWithin(this.#cleaning, () => this.#options.cleanup?.(shutdown as never));
    } catch (cause) {
      this.#fail(`the clean-up of the shutdown failed: ${describe(cause)}`, { err: cause });
    }
    this.#update({ progress: 'leaving' });
  }

  /** The deadline is over. The work that hangs may still act, so the shutdown gives nothing back: the lease ends as after a kill. */
  #giveUp(signal: NodeJS.Signals): void {
    if (this.#state.name !== 'under way') return;
    const left = this.#port.whatIsLeft(this.#state.progress);
    this.#exit(
      SHUTDOWN_EXIT.deadline,
      `the shutdown did not end within ${this.#options.deadlineMs} ms of ${signal}: ${left}; exiting with code ${SHUTDOWN_EXIT.deadline}`,
    );
  }

  #fail(message: string, details: { readonly err?: unknown } = {}): void {
    this.#update({ exitCode: SHUTDOWN_EXIT.cleanupFailed });
    this.#print(message, details);
  }

  #print(message: string, details: { readonly err?: unknown } = {}): void {
    if (!isLastResort(this.#port.logger)) this.#port.logger.error(details, message); // Else it would be printed twice.
    printOnStandardError(`conclave: ${message}`, stackLines(details.err));
  }

  /** The only place that ends the process. */
  #exit(code: number, message?: string): never {
    if (message !== undefined) this.#print(message);
    else this.#port.logger.info({ code }, 'shut down');
    process.exit(code);
  }

  #update(change: Partial<Pick<UnderWay<Held>, 'progress' | 'exitCode'>>): void {
    if (this.#state.name === 'under way') this.#become({ ...this.#state, ...change });
  }

  /** The only place that writes the state. */
  #become(next: ShutdownState<Held>): void {
    this.#state = next;
  }
}

/**
 * @throws InvalidOptionError if an option is wrong; it names the option
 * @throws InvalidStateError in a worker thread
 */
export function resolveShutdown<C extends Checks>(
  signals: unknown,
  options: unknown,
  checks: C,
): Checked<C> & Pick<ResolvedShutdown, 'signals'> {
  const resolved = readOptions('shutdown', options, checks, { prefix: 'shutdown.' });
  if (!process.getBuiltinModule('node:worker_threads').isMainThread)
    throw new InvalidStateError(
      "shutdownOn was called in a worker thread, which gets no signals and can't end the process: handle the signals in the main thread, and have it tell this thread to call stop()",
    );
  return { ...resolved, signals: checkSignals(signals) };
}

const NOT_CAUGHT = ['SIGKILL', 'SIGSTOP']; // A process can't handle these two.

function checkSignals(value: unknown): readonly NodeJS.Signals[] {
  const isSignal = (each: unknown): each is NodeJS.Signals =>
    typeof each === 'string' && Object.hasOwn(constants.signals, each) && !NOT_CAUGHT.includes(each);
  if (Array.isArray(value) && value.length > 0 && value.every(isSignal)) return [...new Set(value)];
  throw new InvalidOptionError('signals', value, 'an array of names of signals that a process can handle');
}

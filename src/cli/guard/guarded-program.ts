import { type ChildProcess, spawn } from 'node:child_process';
import type { CommandOutcome } from '../../cluster/run-command/keeper-handle.js';
import { isBelowKeeper } from '../../cluster/run-command/keeper-messages.js';
import { describe } from '../../errors.js';
import { deferred } from '../../platform/async/promises.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import { backoffMs, resolveRetryOptions } from '../../platform/retry/backoff.js';
import type { Timer } from '../../platform/time/clock.js';
import { type CommandRun, exitCodeOfGuard, exitCodeOfSignal, withSignal } from '../process/exit-codes.js';
import { durationText, printError } from '../process/output.js';
import { END_SIGNALS, FORWARDED_SIGNALS, LEAVE_SIGNALS } from '../process/stop-signals.js';

export interface ProgramOptions {
  readonly command: readonly string[]; // The program and its arguments.
  readonly env: NodeJS.ProcessEnv;
  readonly restart: boolean; // Whether to start it again when it has failed.
  onStarted(child: ChildProcess): void; // Called for each process of the program.
}

/**
 * - `running`: the program runs, since `sinceMs`.
 * - `pausing`: it has failed, and is started again when the timer says so.
 * - `ended`: it has ended, and is not started again. Final.
 */
type State =
  | {
      readonly name: 'running';
      readonly child?: ChildProcess;
      readonly run: CommandRun;
      readonly sinceMs: number;
    }
  | { readonly name: 'pausing'; readonly timer: Timer }
  | { readonly name: 'ended' };

/** A terminal sends these to all processes of a job. The program's process group is what the job would be without this process. */
const SIGNALS_OF_A_JOB: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGWINCH', 'SIGCONT'];
const SIGNALS: readonly NodeJS.Signals[] = [...END_SIGNALS, ...FORWARDED_SIGNALS, 'SIGTSTP', 'SIGCONT'];

const { clock, random } = systemEnvironment;
const RESTARTS = resolveRetryOptions(undefined, Number.POSITIVE_INFINITY);

/**
 * A program that runs as if it had been started in this process's place, with a channel to this process in addition. It has a process
 * session of its own, so a terminal's signals reach only this process, which passes them on: the program gets each of them once. Below a
 * keeper it stays in the session that the keeper can end, and the keeper's signals reach it without this process.
 */
export class GuardedProgram {
  readonly #options: ProgramOptions;
  readonly #exitCode = deferred<number>();
  readonly #isBelowKeeper = isBelowKeeper();
  #state: State = { name: 'running', run: { forwarded: [] }, sinceMs: clock.now() };
  #failures = 0; // How often in a row it has failed before it had run for long.

  constructor(options: ProgramOptions) {
    this.#options = options;
  }

  /**
   * Starts it. Resolves with the exit code when it has ended. From then on this process ignores these signals: a service manager that stops
   * the service because a process of it has died mustn't end the clean-up.
   */
  run(): Promise<number> {
    for (const name of SIGNALS) process.on(name, (signal) => this.#onSignal(signal));
    this.#start();
    return this.#exitCode.promise;
  }

  #start(): void {
    const running = { name: 'running', run: { forwarded: [] }, sinceMs: clock.now() } as const;
    this.#become(running);
    const { command, env } = this.#options;
    const [program = '', ...words] = command;
    let child: ChildProcess;
    try {
      child = spawn(program, words, {
        env,
        stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
        detached: !this.#isBelowKeeper,
      });
    } catch (error) {
      return this.#onEnd({ kind: 'refused', reason: describe(error) }); // Some of the system's refusals are thrown, others are events.
    }
    child.once('exit', (code, signal) => this.#onEnd({ kind: 'ended', code, signal }));
    child.on('error', (error) => {
      if (child.pid === undefined) this.#onEnd({ kind: 'refused', reason: describe(error) });
    });
    if (child.pid === undefined) return;
    child.channel?.unref(); // A process that the program leaves behind may hold it open.
    this.#become({ ...running, child });
    this.#options.onStarted(child);
  }

  #onSignal(name: NodeJS.Signals): void {
    const state = this.#state;
    if (name === 'SIGTSTP') {
      if (this.#isBelowKeeper) return;
      this.#pass('SIGSTOP', true); // The kernel ignores SIGTSTP in a session without a terminal.
      return void process.kill(process.pid, 'SIGSTOP');
    }
    if (!this.#isBelowKeeper) this.#pass(name, SIGNALS_OF_A_JOB.includes(name));
    if (state.name === 'running') this.#become({ ...state, run: withSignal(state.run, name) });
    if (state.name !== 'pausing' || !LEAVE_SIGNALS.includes(name)) return;
    state.timer.clear();
    this.#finish(exitCodeOfSignal(name));
  }

  #pass(name: NodeJS.Signals, toAll: boolean): void {
    const pid = this.#state.name === 'running' ? this.#state.child?.pid : undefined;
    if (pid === undefined) return;
    try {
      process.kill(toAll ? -pid : pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return; // It has just ended.
      printError(`${name} can't be passed on: ${describe(error)}`);
    }
  }

  #onEnd(outcome: CommandOutcome): void {
    if (this.#state.name !== 'running') return;
    const { run, sinceMs } = this.#state;
    if (outcome.kind === 'refused') printError(`the program was not started: ${outcome.reason}`);
    const exitCode = exitCodeOfGuard(outcome, run, this.#options.restart);
    if (exitCode !== undefined) return this.#finish(exitCode);
    if (clock.now() - sinceMs > RESTARTS.maxTimeout) this.#failures = 0;
    const pauseMs = backoffMs(++this.#failures, RESTARTS, random());
    printError(`the program ended${how(outcome)}: it is started again in ${durationText(pauseMs)}`);
    this.#become({ name: 'pausing', timer: clock.after(pauseMs, () => this.#start()) });
  }

  #finish(exitCode: number): void {
    this.#become({ name: 'ended' });
    this.#exitCode.resolve(exitCode);
  }

  /** The only place that writes the state. */
  #become(next: State): void {
    this.#state = next;
  }
}

function how(outcome: CommandOutcome): string {
  if (outcome.kind !== 'ended') return '';
  return outcome.signal === null ? ` with code ${outcome.code}` : ` by ${outcome.signal}`;
}

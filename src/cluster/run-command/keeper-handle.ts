import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Term } from '../../election/term/term.js';
import { describe } from '../../errors.js';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import { deferred } from '../../platform/async/promises.js';
import type { Environment } from '../../platform/injected-environment.js';
import { type Clock, sleep, type Timer } from '../../platform/time/clock.js';
import { heartbeatMs } from '../../platform/time/heartbeat-intervals.js';
import { type MachineInstant, machineInstantIn, msUntil } from '../../platform/time/machine-instant.js';
import { killMarginMs } from './command-deadlines.js';
import { hasVariable, PosixSession, pauseBeforePollMs, readProcesses } from './command-processes.js';
import {
  type CommandLease,
  type CommandLine,
  type ExitCleanup,
  isBelowKeeper,
  type KeeperCommand,
  type KeeperEvent,
  MARK,
} from './keeper-messages.js';

/** How a command ended. Nothing of it runs any more. A keeper that was killed may have started it: then it `ended`, by SIGKILL. */
export type CommandOutcome =
  | { readonly kind: 'ended'; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  | { readonly kind: 'too-late' } // It never ran: leadership was over before it could be started.
  | { readonly kind: 'refused'; readonly reason: string } // It never ran: the system refused to start it.
  | { readonly kind: 'no-keeper'; readonly reason: string }; // It never ran: its keeper can't start, and another one couldn't.

// How long a keeper may take to act, beyond the action itself. A stopped one takes forever, while its runner goes on leading.
const ACT_WITHIN_MS = 10_000;
const SEARCH_MS = 20; // Between two searches for a command whose start the keeper hasn't reported.

/**
 * The runner's side of a keeper: starts it as a child process, which waits for one command to start and ends with it.
 * Started before it is needed, it costs a new leader no time.
 *
 * Guaranteed: `outcome` resolves when nothing of the command runs any more. If the keeper is killed, so is the command.
 */
export class KeeperHandle {
  readonly #clock: Clock;
  readonly #mark: string;
  readonly #child: ChildProcess;
  readonly #onLeaseRunningOut: () => void;
  readonly #ready = deferred();
  readonly #outcome = deferred<CommandOutcome>();
  readonly outcome = this.#outcome.promise;
  #graceMs: number | undefined;
  #startTimer: Timer | undefined; // Runs until the keeper is ready, and again until it has started the command.
  #endTimer: Timer | undefined; // Runs from the request to end the command until the command is gone.
  #processes: PosixSession | undefined;
  #exit: Extract<KeeperEvent, { is: 'exited' }> | undefined;
  #hasEnded = false;

  /**
   * @param variables - the keeper's own environment; the command's comes with its start
   * @param onLeaseRunningOut - the lease wasn't renewed in time: the command is being ended
   */
  constructor({ clock, uuid }: Environment, variables: NodeJS.ProcessEnv, onLeaseRunningOut: () => void) {
    this.#clock = clock;
    this.#onLeaseRunningOut = onLeaseRunningOut;
    this.#mark = uuid();
    // The user's options for Node are meant for the command, not for the keeper.
    const { NODE_OPTIONS: _, ...env } = variables;
    this.#child = spawn(process.execPath, [fileURLToPath(new URL('./keeper.js', import.meta.url))], {
      env: { ...env, [MARK]: this.#mark },
      detached: true, // In a POSIX session of its own, which a terminal's signals don't reach.
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced', // For an ExitCleanup's bigints and buffers.
    });
    this.#child.on('message', (event: KeeperEvent) => this.#onEvent(event));
    this.#child.once('error', (error) => this.#finish({ kind: 'no-keeper', reason: describe(error) }));
    this.#child.once('exit', (code) => void this.#onExit(code));
  }

  /** Whether the keeper has ended, or was dismissed. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether it was given a command to start. */
  get hasCommand(): boolean {
    return this.#graceMs !== undefined;
  }

  /** Resolves when the keeper can start a command, or has ended: one that takes too long is killed. */
  async whenReady(): Promise<void> {
    this.#startTimer = this.#killUnlessWithin(ACT_WITHIN_MS);
    await this.#ready.promise;
    this.#startTimer.clear();
  }

  /** Registers what the keeper cleans up if this process is killed. */
  registerCleanup(cleanup: ExitCleanup): void {
    this.#send({ do: 'register-cleanup', cleanup });
  }

  start(line: CommandLine, lease: CommandLease): void {
    this.#graceMs = lease.graceMs;
    this.#startTimer = this.#killUnlessWithin(ACT_WITHIN_MS);
    const env = { ...line.env, [MARK]: this.#mark };
    this.#send({ do: 'start', ...line, env, ...lease, endsWithRunner: isBelowKeeper() });
  }

  extendLease(leaseEnd: MachineInstant): void {
    this.#send({ do: 'extend-lease', leaseEnd });
  }

  forward(signal: NodeJS.Signals): void {
    this.#send({ do: 'forward', signal });
  }

  /** Ends the command: by this signal, then SIGKILL after its grace or a shorter one. One not yet started never will be. */
  end(signal: NodeJS.Signals, graceMs?: number): void {
    if (this.#graceMs === undefined) return this.dismiss();
    this.#graceMs = Math.min(graceMs ?? this.#graceMs, this.#graceMs);
    this.#endTimer?.clear();
    this.#endTimer = this.#killUnlessWithin(this.#graceMs + ACT_WITHIN_MS);
    this.#send({ do: 'end', signal, ...(graceMs !== undefined && { graceMs }) });
  }

  /** Lets the keeper exit, unless it was given a command. */
  dismiss(): void {
    if (this.#graceMs !== undefined || this.#hasEnded) return;
    this.#send({ do: 'unregister-cleanup' });
    if (this.#child.connected) this.#child.disconnect();
    this.#child.unref(); // It has no command. If it is stopped (SIGSTOP), this process needn't wait for its exit.
    this.#finish({ kind: 'too-late' });
  }

  /** Kills the command from here. The keeper should do it at the same time, but may be late, or stopped. */
  killCommand(): void {
    if (this.#hasEnded) return;
    this.#processes ??= this.#findProcesses();
    this.#processes?.signal('SIGKILL');
  }

  /** Kills the command and the keeper: for a keeper that doesn't act in time. */
  kill(): void {
    this.killCommand();
    if (!this.#hasEnded) this.#child.kill('SIGKILL');
  }

  #killUnlessWithin(ms: number): Timer {
    return this.#clock.after(ms, () => this.kill());
  }

  #send(message: KeeperCommand): void {
    // A failure needs no handling: if the keeper has ended, its exit event comes; if this process ends, the keeper notices.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  #onEvent(event: KeeperEvent): void {
    switch (event.is) {
      case 'ready':
        return this.#ready.resolve();
      case 'too-late':
        return this.#finish({ kind: 'too-late' });
      case 'started':
        this.#startTimer?.clear();
        this.#processes = new PosixSession(event.session, event.startedAt);
        return;
      case 'refused':
        return this.#finish({ kind: 'refused', reason: event.reason });
      case 'lease-running-out':
        return this.#onLeaseRunningOut();
      case 'exited':
        this.#exit = event;
        return;
      case 'gone':
        return this.#finish(this.#endedOutcome());
    }
  }

  /** The keeper has ended. Unless it has reported that the command is gone, the command has to be killed from here. */
  async #onExit(code: number | null): Promise<void> {
    if (this.#child.connected) await once(this.#child, 'disconnect'); // The last messages come before it.
    if (!this.#hasEnded && this.#graceMs !== undefined) await this.#searchProcesses();
    for (
      let poll = 1;
      !this.#hasEnded && this.#processes !== undefined && !this.#processes.isGone();
      poll++
    ) {
      this.#processes.signal('SIGKILL');
      await sleep(this.#clock, pauseBeforePollMs(poll));
    }
    // A command that was started and not reported may have gone before it could be found: the kernel kills it with its keeper.
    const mayHaveRun = this.#processes !== undefined || (code === null && this.#graceMs !== undefined);
    if (mayHaveRun) this.#finish(this.#endedOutcome());
    else if (code === null) this.#finish({ kind: 'refused', reason: 'its keeper has died' });
    else this.#finish({ kind: 'no-keeper', reason: `it ended by itself, with exit code ${code}` });
  }

  /** Looks several times: a forked process has its new environment and its session only a moment later. */
  async #searchProcesses(): Promise<void> {
    for (let tries = 0; tries < 5 && this.#processes === undefined; tries++) {
      this.#processes = this.#findProcesses();
      if (this.#processes === undefined) await sleep(this.#clock, SEARCH_MS);
    }
  }

  /** Finds a command whose start the keeper hasn't reported. */
  #findProcesses(): PosixSession | undefined {
    if (this.#graceMs === undefined) return undefined;
    const leaders = readProcesses().filter(({ session, pid }) => session === pid && pid !== this.#child.pid);
    const command = leaders.find((leader) => hasVariable(leader, MARK, this.#mark));
    return command === undefined ? undefined : new PosixSession(command.pid, command.startedAt);
  }

  #endedOutcome(): CommandOutcome {
    const { code, signal } = this.#exit ?? { code: null, signal: 'SIGKILL' };
    return { kind: 'ended', code, signal };
  }

  #finish(outcome: CommandOutcome): void {
    this.#hasEnded = true;
    this.#startTimer?.clear();
    this.#endTimer?.clear();
    this.#ready.resolve();
    this.#outcome.resolve(outcome);
  }
}

/**
 * Runs a command while a term is held: sends its keeper each renewal of the lease, and the term's end. Resolves when
 * nothing of the command runs any more.
 *
 * The keeper kills the command before the lease's end. This process kills it at the same time, unless it is stopped or
 * blocked itself. A keeper that hasn't reported the command's end half a margin later is killed too.
 */
export async function runWhileHeld(
  term: Term,
  keeper: KeeperHandle,
  line: CommandLine,
  { clock, leaseMs, graceMs }: Omit<CommandLease, 'leaseEnd'> & { readonly clock: Clock },
): Promise<CommandOutcome> {
  await keeper.whenReady();
  if (!term.isHeld()) keeper.dismiss();
  if (keeper.hasEnded) return await keeper.outcome; // It has died, or was dismissed.
  let leaseEnd = machineInstantIn(() => term.remainingMs());
  let timer: Timer | undefined;
  const check = () => {
    if (term.isHeld()) {
      leaseEnd = machineInstantIn(() => term.remainingMs());
      keeper.extendLease(leaseEnd);
    }
    const killInMs = msUntil(leaseEnd) - killMarginMs(leaseMs);
    const killKeeperInMs = killInMs + killMarginMs(leaseMs) / 2;
    if (killKeeperInMs <= 0) return keeper.kill();
    if (killInMs <= 0) keeper.killCommand();
    timer = clock.after(Math.min(heartbeatMs(leaseMs) / 2, killInMs > 0 ? killInMs : killKeeperInMs), check);
  };
  keeper.start(line, { leaseEnd, leaseMs, graceMs });
  check();
  // The command may take its grace: the lease that was known last still holds, and no other leader acts before its end.
  const unsubscribe = onAbort(term.signal, () => keeper.end('SIGTERM'));
  try {
    return await keeper.outcome;
  } finally {
    timer?.clear();
    unsubscribe();
  }
}

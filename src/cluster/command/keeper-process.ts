import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, type ListenerError } from '../../errors.js';
import { deferred } from '../../platform/async/promises.js';
import type { Environment } from '../../platform/environment.js';
import { type EventNames, SafeEmitter } from '../../platform/safe-emitter.js';
import { type Clock, type MachineInstant, sleep, type Timer } from '../../platform/time/clock.js';
import type { CommandLine, ExitCleanup, KeeperCommand, KeeperEvent, Terms } from './keeper-messages.js';
import { ProcessSession } from './process-session.js';
import { hasVariable, readProcesses } from './process-table.js';

/** What became of a command. Nothing of it runs any more. */
export type CommandOutcome =
  | { readonly kind: 'ended'; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  /** It never ran: leadership was over before it could be started. */
  | { readonly kind: 'too-late' }
  /** It never ran: the system refused to start it. */
  | { readonly kind: 'refused'; readonly why: string };

/** The events of a {@link KeeperProcess}. */
export interface KeeperProcessEvents {
  /** The lease wasn't renewed in time: the command is being ended. */
  'running-out'(): void;
}

const KEEPER_EVENTS: EventNames<KeeperProcessEvents> = { 'running-out': true };

// How long a keeper may take to do what it is told, beyond what that takes. One that is stopped would take for ever, while
// its leader goes on to lead.
const ANSWER_WITHIN_MS = 10_000;
// Between two looks whether it is gone, if the keeper can't tell.
const LOOK_MS = 20;
/** By this variable a command is found whose keeper died before it could tell of it. */
const MARK = 'CONCLAVE_KEEPER';

/**
 * The keeper, as the process that leads sees it: a child process that waits until it is given one command to start, and
 * ends with it. Started beforehand, it costs a new leader no time.
 *
 * Guaranteed: `outcome` resolves when nothing of the command runs any more, also if the keeper is killed; the
 * command is, then.
 */
export class KeeperProcess extends SafeEmitter<KeeperProcessEvents> {
  readonly #clock: Clock;
  readonly #mark: string;
  readonly #child: ChildProcess;
  readonly #ready = deferred();
  readonly #outcome = deferred<CommandOutcome>();
  #graceMs: number | undefined;
  /** Until the keeper has come to life, or started the command. */
  #startOverdue: Timer | undefined;
  /** Until the command is gone that it was told to end. */
  #endOverdue: Timer | undefined;
  #processes: ProcessSession | undefined;
  #ended: Extract<KeeperEvent, { is: 'exited' }> | undefined;
  #isOver = false;

  /** @param variables - the keeper's own environment; that of the command comes with it */
  constructor({ clock, uuid }: Environment, variables: NodeJS.ProcessEnv) {
    super();
    this.#clock = clock;
    this.#mark = uuid();
    // What Node is told to do in the command is not for the keeper.
    const { NODE_OPTIONS: _, ...env } = variables;
    this.#child = spawn(process.execPath, [fileURLToPath(new URL('./keeper.js', import.meta.url))], {
      env: { ...env, [MARK]: this.#mark },
      detached: true, // In a session of its own: what a terminal sends to its foreground isn't for the keeper.
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced', // What it inherits has numbers of 64 bits, and keys.
    });
    this.#child.on('message', (news: KeeperEvent) => this.#hear(news));
    this.#child.once('error', (error) => this.#finish({ kind: 'refused', why: describe(error) }));
    this.#child.once('exit', () => void this.#onExit());
  }

  /** Whether it has ended, or hasn't come to life at all. */
  get hasEnded(): boolean {
    return this.#isOver;
  }

  /** Resolves when it can start a command, or won't ever, as one that takes too long. */
  async whenReady(): Promise<void> {
    this.#startOverdue = this.#killUnlessWithin(ANSWER_WITHIN_MS);
    await this.#ready.promise;
    this.#startOverdue.clear();
  }

  /** What became of the command. */
  get outcome(): Promise<CommandOutcome> {
    return this.#outcome.promise;
  }

  /** What is to be closed when this process has been killed. */
  inherit(legacy: ExitCleanup): void {
    this.#order({ do: 'inherit', legacy });
  }

  start(line: CommandLine, terms: Terms): void {
    this.#graceMs = terms.graceMs;
    this.#startOverdue = this.#killUnlessWithin(ANSWER_WITHIN_MS);
    this.#order({ do: 'start', ...line, env: { ...line.env, [MARK]: this.#mark }, ...terms });
  }

  /** The lease has been renewed. */
  extend(leaseEnd: MachineInstant): void {
    this.#order({ do: 'extend', leaseEnd });
  }

  /** Sends the command, and all that comes from it, a signal. */
  forward(signal: NodeJS.Signals): void {
    this.#order({ do: 'forward', signal });
  }

  /**
   * Ends the command: by this signal, and by SIGKILL after the grace that was agreed, or a shorter one. One that hasn't
   * been started yet never will be.
   */
  end(signal: NodeJS.Signals, graceMs?: number): void {
    if (this.#graceMs === undefined) return this.dismiss();
    this.#graceMs = Math.min(graceMs ?? this.#graceMs, this.#graceMs);
    this.#endOverdue?.clear();
    this.#endOverdue = this.#killUnlessWithin(this.#graceMs + ANSWER_WITHIN_MS);
    this.#order({ do: 'end', signal, ...(graceMs !== undefined && { graceMs }) });
  }

  /** It is not needed: lets it go, unless it was given a command. */
  dismiss(): void {
    if (this.#graceMs !== undefined || this.#isOver) return;
    this.#order({ do: 'disinherit' });
    if (this.#child.connected) this.#child.disconnect();
    this.#child.unref(); // It may be stopped, and has nothing to keep.
    this.#finish({ kind: 'too-late' });
  }

  /** Kills the command from here, as the keeper should do at the same time: it may be late, or stopped. */
  killCommand(): void {
    if (this.#isOver) return;
    this.#processes ??= this.#findProcesses();
    this.#processes?.signal('SIGKILL');
  }

  /** Kills the command, keeper and all: for a keeper that doesn't do what it should. */
  kill(): void {
    this.killCommand();
    if (!this.#isOver) this.#child.kill('SIGKILL');
  }

  /** Its end, unless the timer is cleared before. */
  #killUnlessWithin(ms: number): Timer {
    return this.#clock.after(ms, () => this.kill());
  }

  #order(order: KeeperCommand): void {
    // What it can't be told any more, its end tells; and it tells itself that this process is gone.
    if (this.#child.connected) this.#child.send(order, () => undefined);
  }

  #hear(news: KeeperEvent): void {
    switch (news.is) {
      case 'ready':
        return this.#ready.resolve();
      case 'too-late':
        return this.#finish({ kind: 'too-late' });
      case 'started':
        this.#startOverdue?.clear();
        this.#processes = new ProcessSession(news.session, news.startedAt);
        return;
      case 'refused':
        return this.#finish({ kind: 'refused', why: news.why });
      case 'running-out':
        return this.emit('running-out');
      case 'exited':
        this.#ended = news;
        return;
      case 'gone':
        return this.#finish(this.#howItEnded());
    }
  }

  /** The keeper has ended. If that isn't because the command was gone, nobody keeps it any more: it has to go. */
  async #onExit(): Promise<void> {
    if (this.#child.connected) await once(this.#child, 'disconnect'); // After its last word.
    if (!this.#isOver && this.#graceMs !== undefined) await this.#searchProcesses();
    while (!this.#isOver && this.#processes !== undefined && !this.#processes.isGone()) {
      this.#processes.signal('SIGKILL');
      await sleep(this.#clock, LOOK_MS);
    }
    const died = { kind: 'refused', why: 'its keeper has died' } as const;
    this.#finish(this.#processes === undefined ? died : this.#howItEnded());
  }

  /** A process that has just been made takes a moment to become what it is found by. */
  async #searchProcesses(): Promise<void> {
    for (let looks = 0; looks < 5 && this.#processes === undefined; looks++) {
      this.#processes = this.#findProcesses();
      if (this.#processes === undefined) await sleep(this.#clock, LOOK_MS);
    }
  }

  /** The processes of a command of which the keeper hasn't come to tell. */
  #findProcesses(): ProcessSession | undefined {
    if (this.#graceMs === undefined) return undefined;
    const leaders = readProcesses().filter(({ session, pid }) => session === pid && pid !== this.#child.pid);
    const command = leaders.find((leader) => hasVariable(leader, MARK, this.#mark));
    return command === undefined ? undefined : new ProcessSession(command.pid, command.startedAt);
  }

  #howItEnded(): CommandOutcome {
    const { code, signal } = this.#ended ?? { code: null, signal: 'SIGKILL' };
    return { kind: 'ended', code, signal };
  }

  #finish(outcome: CommandOutcome): void {
    this.#isOver = true;
    this.#startOverdue?.clear();
    this.#endOverdue?.clear();
    this.#ready.resolve();
    this.#outcome.resolve(outcome);
  }

  protected override get knownEvents(): EventNames<KeeperProcessEvents> {
    return KEEPER_EVENTS;
  }

  protected override reportListenerError(error: ListenerError): void {
    throw error; // Its listeners are ours.
  }
}

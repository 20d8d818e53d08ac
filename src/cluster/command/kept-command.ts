import { deferred } from '../../platform/async/promises.js';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { nextStep } from './command-deadlines.js';
import type { Processes } from './process-session.js';

/** What a {@link KeptCommand} goes by. */
export interface KeptCommandOptions {
  readonly clock: Clock;
  readonly processes: Processes;
  /** How long the lease lasts that the command begins with, and how long a whole one is, in milliseconds. */
  readonly remainingMs: number;
  readonly leaseMs: number;
  /** How long the command may take to end once it was asked to, as long as the lease lasts. */
  readonly graceMs: number;
  /** The lease wasn't renewed in time: the command is being asked to end. */
  readonly onLeaseRunningOut: () => void;
}

/**
 * - `running`: it may.
 * - `ending`: it was asked to end at `askedAt`.
 * - `killing`: it was killed; not all of it is known to be gone.
 * - `gone`: nothing of it runs any more. Final.
 *
 * running → ending → killing → gone; any → gone.
 */
type State =
  | { readonly name: 'running' }
  | { readonly name: 'ending'; readonly askedAt: number; readonly graceMs: number }
  | { readonly name: 'killing' }
  | { readonly name: 'gone' };

// Between two looks whether the rest of them is gone, which are nobody's children here.
const FIRST_LOOK_MS = 2;
const LONGEST_LOOK_MS = 50;

/**
 * A command that runs only as long as a lease is renewed: when it isn't, or it is told to, the command is asked to end,
 * and killed, with all that comes from it, before the lease's end and never later.
 */
export class KeptCommand {
  readonly #options: KeptCommandOptions;
  readonly #gone = deferred();
  #state: State = { name: 'running' };
  #leaseEnd: number;
  #hasExited = false;
  #timer: Timer | undefined;
  #lookInMs = FIRST_LOOK_MS;

  constructor(options: KeptCommandOptions) {
    this.#options = options;
    this.#leaseEnd = options.clock.now() + options.remainingMs;
    this.#proceed();
  }

  /** Resolves when nothing of it runs any more. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** The lease has been renewed, and lasts so long from now. An older word that comes late takes nothing back. */
  extend(remainingMs: number): void {
    this.#leaseEnd = Math.max(this.#leaseEnd, this.#options.clock.now() + remainingMs);
    this.#proceed();
  }

  /** Sends a signal on. */
  forward(signal: NodeJS.Signals): void {
    this.#options.processes.signal(signal);
  }

  /** Asks it to end, by `signal`. Asked again, the shorter grace counts. */
  end(signal: NodeJS.Signals, graceMs = this.#options.graceMs): void {
    if (this.#state.name === 'gone') return;
    this.#ask(signal, graceMs);
    this.#proceed();
  }

  /** The command itself has ended. What it has left behind has to, too. */
  exited(): void {
    this.#hasExited = true;
    if (this.#state.name === 'running' && !this.#options.processes.isGone())
      this.#ask('SIGTERM', this.#options.graceMs);
    this.#proceed();
  }

  /** Does what is due, and sets the timer for what will be. */
  #proceed(): void {
    this.#timer?.clear();
    if (this.#state.name === 'gone') return;
    const nextInMs = this.#act();
    if (this.#hasExited && this.#options.processes.isGone()) {
      this.#state = { name: 'gone' };
      this.#gone.resolve();
      return;
    }
    const inMs = Math.min(nextInMs, this.#nextLookMs());
    this.#timer = this.#options.clock.after(inMs, () => this.#proceed());
  }

  /** Takes the steps that are due. Gives how long it is until the next one. */
  #act(): number {
    const { clock, processes, leaseMs, graceMs, onLeaseRunningOut } = this.#options;
    while (this.#state.name === 'running' || this.#state.name === 'ending') {
      const ending = this.#state.name === 'ending' ? this.#state : { askedAt: undefined, graceMs };
      const step = nextStep({ now: clock.now(), leaseEnd: this.#leaseEnd, leaseMs, ...ending });
      if (step.do === 'wait') return step.ms;
      if (this.#state.name === 'running') onLeaseRunningOut();
      if (step.do === 'kill') this.#state = { name: 'killing' };
      else this.#ask('SIGTERM', graceMs);
    }
    processes.signal('SIGKILL');
    return LONGEST_LOOK_MS;
  }

  #ask(signal: NodeJS.Signals, graceMs: number): void {
    const { clock, processes } = this.#options;
    const asked = { name: 'ending', askedAt: clock.now(), graceMs } as const;
    if (this.#state.name === 'running') this.#state = asked;
    else if (this.#state.name === 'ending' && endOf(asked) < endOf(this.#state)) this.#state = asked;
    processes.signal(signal);
    processes.signal('SIGCONT'); // What is stopped hears nothing else.
  }

  /** How long it is until the next look whether all are gone, at longer and longer intervals. */
  #nextLookMs(): number {
    if (!this.#hasExited) return Number.POSITIVE_INFINITY; // It is our child: its end is told.
    this.#lookInMs = Math.min(2 * this.#lookInMs, LONGEST_LOOK_MS);
    return this.#lookInMs;
  }
}

function endOf({ askedAt, graceMs }: { askedAt: number; graceMs: number }): number {
  return askedAt + graceMs;
}

import { deferred } from '../../platform/async/promises.js';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { nextStep } from './command-deadlines.js';
import type { CommandProcesses } from './posix-session.js';

/** What is left of a lease at the moment of the call, in milliseconds, also after the machine was suspended. */
export type RemainingMs = () => number;

export interface KeptCommandOptions {
  readonly clock: Clock;
  readonly processes: CommandProcesses;
  readonly remainingMs: RemainingMs; // What is left of the lease with which the command starts.
  readonly leaseMs: number; // How long a whole lease is, in milliseconds.
  readonly graceMs: number; // How long the command may take to end after it was asked to, as long as the lease lasts.
  readonly onLeaseRunningOut: () => void; // The lease wasn't renewed in time: the command is being asked to end.
}

/**
 * - `running`: the command may run.
 * - `ending`: it was asked to end, at `endRequestedAt`.
 * - `killing`: it was sent SIGKILL; some of its processes may still be there.
 * - `gone`: nothing of it runs any more. Final.
 *
 * running → ending → killing → gone; any → gone.
 */
type State =
  | { readonly name: 'running' }
  | { readonly name: 'ending'; readonly endRequestedAt: number; readonly graceMs: number }
  | { readonly name: 'killing' }
  | { readonly name: 'gone' };

// The command's descendants aren't children of this process, so no event reports their end: they are polled.
const FIRST_POLL_MS = 2;
const LONGEST_POLL_MS = 50;

/**
 * A command that runs only as long as a lease is renewed. If the lease isn't renewed, or on request, the command and its
 * descendants are asked to end, and are killed when their grace is over, before the lease's end in any case.
 */
export class KeptCommand {
  readonly #options: KeptCommandOptions;
  readonly #gone = deferred();
  #state: State = { name: 'running' };
  #remainingMs: RemainingMs;
  #hasExited = false;
  #timer: Timer | undefined;
  #pollMs = FIRST_POLL_MS;

  constructor(options: KeptCommandOptions) {
    this.#options = options;
    this.#remainingMs = options.remainingMs;
    this.#proceed();
  }

  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** The lease has been renewed. An older message that comes late doesn't shorten it. */
  extendLease(remainingMs: RemainingMs): void {
    if (remainingMs() > this.#remainingMs()) this.#remainingMs = remainingMs;
    this.#proceed();
  }

  forward(signal: NodeJS.Signals): void {
    this.#options.processes.signal(signal);
  }

  /** Asks the command to end, by `signal`. If it is asked again, the grace that ends first counts. */
  end(signal: NodeJS.Signals, graceMs = this.#options.graceMs): void {
    if (this.#state.name === 'gone') return;
    this.#requestEnd(signal, graceMs);
    this.#proceed();
  }

  /** The command itself has ended. Descendants that are left have to end, too. */
  onExit(): void {
    this.#hasExited = true;
    if (this.#state.name === 'running' && !this.#options.processes.isGone())
      this.#requestEnd('SIGTERM', this.#options.graceMs);
    this.#proceed();
  }

  /** Takes the steps that are due, and sets the timer for the next one. */
  #proceed(): void {
    this.#timer?.clear();
    if (this.#state.name === 'gone') return;
    const nextInMs = this.#takeSteps();
    if (this.#hasExited && this.#options.processes.isGone()) {
      this.#state = { name: 'gone' };
      this.#gone.resolve();
      return;
    }
    const inMs = Math.min(nextInMs, this.#nextPollMs());
    this.#timer = this.#options.clock.after(inMs, () => this.#proceed());
  }

  /** Returns how long it is until the next step. */
  #takeSteps(): number {
    const { clock, processes, leaseMs, graceMs, onLeaseRunningOut } = this.#options;
    while (this.#state.name === 'running' || this.#state.name === 'ending') {
      const ending = this.#state.name === 'ending' ? this.#state : { endRequestedAt: undefined, graceMs };
      const now = clock.now(); // Before the rest of the lease: a pause in between makes its end earlier and never later.
      const leaseEnd = now + this.#remainingMs();
      const step = nextStep({ now, leaseEnd, leaseMs, ...ending });
      if (step.do === 'wait') return step.ms;
      if (this.#state.name === 'running') onLeaseRunningOut();
      if (step.do === 'kill') this.#state = { name: 'killing' };
      else this.#requestEnd('SIGTERM', graceMs);
    }
    processes.signal('SIGKILL');
    return LONGEST_POLL_MS;
  }

  #requestEnd(signal: NodeJS.Signals, graceMs: number): void {
    const { clock, processes } = this.#options;
    const ending = { name: 'ending', endRequestedAt: clock.now(), graceMs } as const;
    if (this.#state.name === 'running') this.#state = ending;
    else if (this.#state.name === 'ending' && endOf(ending) < endOf(this.#state)) this.#state = ending;
    processes.signal(signal);
    processes.signal('SIGCONT'); // A stopped process handles no other signal before this one.
  }

  /** How long until the next poll whether all are gone, at longer and longer intervals. */
  #nextPollMs(): number {
    if (!this.#hasExited) return Number.POSITIVE_INFINITY; // The command itself is a child: an event reports its end.
    this.#pollMs = Math.min(2 * this.#pollMs, LONGEST_POLL_MS);
    return this.#pollMs;
  }
}

function endOf({ endRequestedAt, graceMs }: { endRequestedAt: number; graceMs: number }): number {
  return endRequestedAt + graceMs;
}

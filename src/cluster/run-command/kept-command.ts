import { deferred } from '../../platform/async/promises.js';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { killMarginMs, nextStep } from './command-deadlines.js';
import { type CommandProcesses, pauseBeforePollMs } from './command-processes.js';

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

/**
 * A command that runs only as long as a lease is renewed. If the lease isn't renewed, or on request, the command and its
 * descendants are asked to end, and are killed when their grace is over, before the lease's end in any case.
 */
export class KeptCommand {
  readonly #options: KeptCommandOptions;
  readonly #gone = deferred();
  readonly gone = this.#gone.promise;
  #state: State = { name: 'running' };
  #remainingMs: RemainingMs;
  #hasExited = false;
  #timer: Timer | undefined;
  #polls = 0; // Since the command exited, or was last sent another signal.

  constructor(options: KeptCommandOptions) {
    this.#options = options;
    this.#remainingMs = options.remainingMs;
    this.#proceed();
  }

  /**
   * The lease has been renewed. An older message that comes late doesn't shorten it. The timer for the former end finds that there is
   * nothing to do yet.
   */
  extendLease(remainingMs: RemainingMs): void {
    if (remainingMs() > this.#remainingMs()) this.#remainingMs = remainingMs;
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
    this.#polls = 0;
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
    // Only an exit of the command itself, which is a child, is reported by an event.
    const isPolled = this.#hasExited || this.#state.name === 'killing';
    const inMs = isPolled ? Math.min(nextInMs, pauseBeforePollMs(++this.#polls)) : nextInMs;
    this.#timer = this.#options.clock.after(inMs, () => this.#proceed());
  }

  /** Returns how long it is until the next step; Infinity if the last one has been taken. */
  #takeSteps(): number {
    const { clock, processes, leaseMs, graceMs, onLeaseRunningOut } = this.#options;
    while (this.#state.name === 'running' || this.#state.name === 'ending') {
      const ending = this.#state.name === 'ending' ? this.#state : { endRequestedAt: undefined, graceMs };
      const now = clock.now(); // Before the rest of the lease: a pause in between makes its end earlier and never later.
      const leaseEnd = now + this.#remainingMs();
      const step = nextStep({ now, leaseEnd, leaseMs, ...ending });
      // Timers stand still while the host is suspended, so the lease is looked at again in good time.
      if (step.do === 'wait') return Math.min(step.ms, killMarginMs(leaseMs) / 2);
      if (this.#state.name === 'running') onLeaseRunningOut();
      if (step.do === 'terminate') this.#requestEnd('SIGTERM', graceMs);
      else {
        this.#state = { name: 'killing' };
        this.#polls = 0;
      }
    }
    processes.signal('SIGKILL'); // At each poll: a process that was just being forked may have got none before.
    return Number.POSITIVE_INFINITY;
  }

  #requestEnd(signal: NodeJS.Signals, graceMs: number): void {
    const { clock, processes } = this.#options;
    const ending = { name: 'ending', endRequestedAt: clock.now(), graceMs } as const;
    if (this.#state.name === 'running') this.#state = ending;
    else if (this.#state.name === 'ending' && endOf(ending) < endOf(this.#state)) this.#state = ending;
    this.#polls = 0;
    processes.signal(signal);
    processes.signal('SIGCONT'); // A stopped process handles no other signal before this one.
  }
}

function endOf({ endRequestedAt, graceMs }: { endRequestedAt: number; graceMs: number }): number {
  return endRequestedAt + graceMs;
}

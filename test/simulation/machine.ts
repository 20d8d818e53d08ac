import type { Clock, Timer } from '../../src/platform/time/clock.js';
import type { Random } from '../support/seeded-random.js';
import type { Happening, Scheduler } from './scheduler.js';

/** The work of a machine when it goes on. The order depends on the phase in which its event loop stood. */
interface Due {
  readonly kind: 'timer' | 'message';
  readonly task: () => void;
}

interface Interruption {
  stepsLeft: number;
  readonly isBefore: boolean;
  readonly task: () => void;
}

interface RunningTimer extends Timer {
  readonly happening: Happening;
}

/**
 * One process: its clock, which has a rate of its own, its timers, and its packets from the network. It can be frozen, as
 * by SIGSTOP, a long garbage collection or a blocked event loop. Its clock then goes on, and timers and packets wait
 * until it thaws. It can be killed: then nothing happens to it any more.
 */
export class Machine implements Clock {
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #rate: number;
  readonly #originMs: number;
  /** Whether its code has promises. */
  readonly #hasPromises: boolean;
  readonly #timers = new Set<RunningTimer>();
  #due: Due[] = [];
  #state: 'running' | 'frozen' | 'dead' = 'running';
  #frozenAt = 0;
  #frozenMs = 0;
  #runsSince: number;
  #interruption: Interruption | undefined;

  /** @param rate - how fast its clock runs: 1 is right */
  constructor(name: string, rate: number, scheduler: Scheduler, random: Random, hasPromises: boolean) {
    this.name = name;
    this.#rate = rate;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#originMs = random.between(0, 1e6);
    this.#hasPromises = hasPromises;
    this.#runsSince = scheduler.now;
  }

  get isFrozen(): boolean {
    return this.#state === 'frozen';
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  /** For how long it has been frozen so far, by its own clock. */
  get frozenMs(): number {
    return this.#frozenMs + (this.isFrozen ? this.now() - this.#frozenAt : 0);
  }

  /** Since when it runs, by the clock on the wall. */
  get runsSince(): number {
    return this.#runsSince;
  }

  /** How many timers are running. */
  get timers(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#originMs + this.#scheduler.now * this.#rate;
  }

  /** Converts a time of its own clock to the clock on the wall. */
  wallTimeOf(ms: number): number {
    return (ms - this.#originMs) / this.#rate;
  }

  date(): Date {
    return new Date(1.7e12 + this.#scheduler.now);
  }

  /** Like Node's timers: whole milliseconds, at least one. */
  after(ms: number, task: () => void): Timer {
    let over = false;
    const run = () => {
      if (over) return;
      over = true;
      this.#timers.delete(timer);
      task();
    };
    const happening = this.#scheduler.after(Math.max(1, Math.ceil(ms)) / this.#rate, () =>
      this.#happens('timer', run),
    );
    const timer: RunningTimer = {
      happening,
      clear: () => {
        over = true;
        happening.cancelled = true;
        this.#timers.delete(timer);
      },
    };
    this.#timers.add(timer);
    return timer;
  }

  /** Something has come from the network. */
  receive(task: () => void): void {
    this.#happens('message', task);
  }

  freeze(): void {
    if (this.#state !== 'running') return;
    this.#state = 'frozen';
    this.#frozenAt = this.now();
  }

  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    this.#frozenMs += this.now() - this.#frozenAt;
    this.#runsSince = this.#scheduler.now;
    const due = this.#due;
    this.#due = [];
    const first = this.#random.chance(0.5) ? 'timer' : 'message';
    const inOrder = [
      ...due.filter(({ kind }) => kind === first),
      ...due.filter(({ kind }) => kind !== first),
    ];
    for (const each of inOrder) this.#scheduler.after(0, () => this.#happens(each.kind, each.task));
  }

  /**
   * Runs `task` at the `steps`th thing from now on that happens here, right before or right after it, before any promise
   * goes on. A later interruption takes the place of an earlier one.
   */
  interruptAfter(steps: number, task: () => void): void {
    this.#interruption = { stepsLeft: steps, isBefore: this.#random.chance(0.5), task };
  }

  /** Cancels {@link interruptAfter}. */
  goOn(): void {
    this.#interruption = undefined;
  }

  kill(): void {
    this.#state = 'dead';
    this.#due = [];
    for (const { happening } of this.#timers) happening.cancelled = true;
    this.#timers.clear();
  }

  #happens(kind: Due['kind'], task: () => void): void {
    switch (this.#state) {
      case 'dead':
        return;
      case 'frozen':
        this.#due.push({ kind, task });
        return;
      case 'running':
        if (this.#hasPromises) this.#scheduler.followUp();
        if (this.#interruption === undefined) task();
        else this.#interrupt(this.#interruption, task);
    }
  }

  #interrupt(interruption: Interruption, task: () => void): void {
    if (--interruption.stepsLeft > 0) return task();
    this.#interruption = undefined;
    const inOrder = [task, interruption.task];
    if (interruption.isBefore) inOrder.reverse();
    for (const each of inOrder) each();
  }
}

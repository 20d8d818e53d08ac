import type { Clock, Timer } from '../../src/clock.js';
import type { Random } from '../helpers/random.js';
import type { Happening, Scheduler } from './scheduler.js';

/** What a machine has to do when it goes on: in which order depends on where its event loop stood. */
interface Due {
  readonly kind: 'timer' | 'message';
  readonly task: () => void;
}

interface RunningTimer extends Timer {
  readonly happening: Happening;
}

/**
 * One process: its clock, which has a rate of its own, its timers, and what comes to it from the network. It can be
 * frozen, as by SIGSTOP, a long garbage collection or a blocked event loop: its clock goes on, and what would have
 * happened happens when it thaws. It can be killed: then nothing happens to it any more.
 */
export class Machine implements Clock {
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #rate: number;
  readonly #originMs: number;
  /** Whether what it runs has promises. */
  readonly #hasPromises: boolean;
  readonly #timers = new Set<RunningTimer>();
  #due: Due[] = [];
  #state: 'running' | 'frozen' | 'dead' = 'running';

  /** @param rate - how fast its clock runs: 1 is right */
  constructor(name: string, rate: number, scheduler: Scheduler, random: Random, hasPromises: boolean) {
    this.name = name;
    this.#rate = rate;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#originMs = random.between(0, 1e6);
    this.#hasPromises = hasPromises;
  }

  get isFrozen(): boolean {
    return this.#state === 'frozen';
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  /** How many timers are running. */
  get timers(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.#originMs + this.#scheduler.now * this.#rate;
  }

  date(): Date {
    return new Date(1.7e12 + this.#scheduler.now);
  }

  /** As Node's timers: whole milliseconds, one at least. */
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
    if (this.#state === 'running') this.#state = 'frozen';
  }

  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    const due = this.#due;
    this.#due = [];
    const first = this.#random.chance(0.5) ? 'timer' : 'message';
    const inOrder = [
      ...due.filter(({ kind }) => kind === first),
      ...due.filter(({ kind }) => kind !== first),
    ];
    for (const each of inOrder) this.#scheduler.after(0, () => this.#happens(each.kind, each.task));
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
        task();
    }
  }
}

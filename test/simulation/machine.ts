import {
  type Clock,
  type LeaseInstant,
  leaseAgeMs,
  SystemClock,
  type Timer,
} from '../../src/platform/time/clock.js';
import type { TimeSources } from '../../src/platform/time/machine-instant.js';
import type { Random } from '../support/seeded-random.js';
import type { ClockFaults } from './clock-faults.js';
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

/** A timer of a machine that hasn't run yet. */
class RunningTimer implements Timer {
  readonly #timers: Set<RunningTimer>;
  readonly #task: () => void;
  happening: Happening;

  /** @param timers - those of its machine, with it until it is over */
  constructor(timers: Set<RunningTimer>, happening: Happening, task: () => void) {
    this.#timers = timers;
    this.happening = happening;
    this.#task = task;
    timers.add(this);
  }

  readonly run = (): void => {
    if (this.#timers.delete(this)) this.#task();
  };

  clear(): void {
    this.happening.cancelled = true;
    this.#timers.delete(this);
  }
}

/**
 * One process: its clock, which has a rate of its own, its timers, and its packets from the network. It can be frozen, as
 * by SIGSTOP, a long garbage collection or a blocked event loop. Its clock then goes on, and timers and packets wait
 * until it thaws. It can be killed: then nothing happens to it any more.
 *
 * With {@link ClockFaults} its clock is the shipped one, made of two sources, and the process may stand still right after any
 * reading of either. What it does after that in the same go happens later by that pause. Its machine may be suspended with it: its
 * monotonic clock and its timers then stop, and its uptime goes on.
 *
 * Its main thread may have threads beside it, see {@link Machine.newThread}: event loops of their own, which read the same clock. One event
 * loop may stand still alone. They are frozen, suspended and killed together.
 */
export class Machine implements Clock {
  readonly name: string;
  /** The main thread of the process: itself, unless it is a thread. */
  readonly process: Machine;
  readonly #threads = new Set<Machine>();
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #rate: number;
  readonly #originMs: number;
  /** Whether its code has promises. */
  readonly #hasPromises: boolean;
  readonly #timers = new Set<RunningTimer>();
  #due: Due[] = [];
  #isDead = false;
  /** Why it stands still: its process does, or this event loop alone. */
  readonly #halts = new Set<'frozen' | 'stalled'>();
  /** Since when it stands still, if it does, by the clock on the wall. */
  #haltedAt = 0;
  #frozenAt = 0;
  #frozenMs = 0;
  #runsSince: number;
  #interruption: Interruption | undefined;
  /** Until when the process stands still after a reading of its clock, by the clock on the wall. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #suspendedAt: number | undefined;
  /** How far its monotonic clock is behind its uptime, by its own rate. */
  #suspendedMs = 0;
  /** Whether its clock is looked at from outside, so that it causes no pause. */
  #isWatched = false;
  readonly #faults: ClockFaults | undefined;
  readonly #readings: SystemClock | undefined;
  readonly sources: TimeSources;

  /** @param rate - how fast its clock runs: 1 is right. @param faults - without them its clock has one source */
  constructor(
    name: string,
    rate: number,
    scheduler: Scheduler,
    random: Random,
    hasPromises: boolean,
    faults?: ClockFaults,
    process?: Machine,
  ) {
    this.process = process ?? this;
    this.name = name;
    this.#rate = rate;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#originMs = process === undefined ? random.between(0, 1e6) : process.#originMs;
    this.#hasPromises = hasPromises;
    this.#runsSince = scheduler.now;
    this.#faults = faults;
    const monotonicMs = () => this.#read(this.#monotonicMs());
    this.sources = { monotonicMs };
    if (faults === undefined) return;
    const { stepMs } = faults;
    const readMs = () => this.#read(Math.floor(this.#uptimeMs() / stepMs) * stepMs);
    this.sources = { monotonicMs, uptime: { stepMs, readMs } };
    this.#readings = new SystemClock(this.sources);
  }

  /** A thread of this process, which runs from now on. */
  newThread(name: string): Machine {
    const [scheduler, random, faults] = [this.#scheduler, this.#random, this.#faults];
    const thread = new Machine(`${this.name}: ${name}`, this.#rate, scheduler, random, true, faults, this);
    this.#threads.add(thread);
    return thread;
  }

  /** How many threads run beside the main thread. */
  get threads(): number {
    return this.#threads.size;
  }

  get #loops(): readonly Machine[] {
    return [this, ...this.#threads];
  }

  /** Whether it stands still, for any reason. */
  get isFrozen(): boolean {
    return this.#halts.size > 0 || this.#scheduler.now < this.#pausedUntil;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** For how long it has been frozen so far, by its own clock. */
  get frozenMs(): number {
    return this.#frozenMs + (this.#halts.size > 0 ? this.#monotonicMs() - this.#frozenAt : 0);
  }

  /**
   * Since when it has stood still, by the clock on the wall: now, if it runs. What it does after a pause is done already, and other threads
   * see it in shared memory. So a pause doesn't count, and a halt within it counts from its end.
   */
  get standsSince(): number {
    return this.#halts.size > 0 ? Math.max(this.#haltedAt, this.#pausedUntil) : this.#scheduler.now;
  }

  /** Since when it runs, by the clock on the wall. */
  get runsSince(): number {
    return this.#runsSince;
  }

  /** How many timers are running. */
  get timers(): number {
    return this.#loops.reduce((sum, each) => sum + each.#timers.size, 0);
  }

  now(): number {
    return this.#readings?.now() ?? this.#monotonicMs();
  }

  leaseNow(): number {
    return this.#readings?.leaseNow() ?? this.#monotonicMs();
  }

  leaseStart(): number {
    return this.#readings?.leaseStart() ?? this.#monotonicMs();
  }

  /** Looks at something of the process from outside, at this moment: its clock is read, and it doesn't stand still after that. */
  watched<T>(look: () => T): T {
    const before = this.#isWatched;
    this.#isWatched = true;
    try {
      return look();
    } finally {
      this.#isWatched = before;
    }
  }

  /** The instant of the code that runs: later than the scheduler's after a pause. */
  #wallMs(): number {
    return this.#isWatched ? this.#scheduler.now : Math.max(this.#scheduler.now, this.#pausedUntil);
  }

  #uptimeMs(): number {
    return this.#originMs + this.#wallMs() * this.#rate;
  }

  #monotonicMs(): number {
    const suspendedAt = this.process.#suspendedAt;
    const underWay = suspendedAt === undefined ? 0 : this.#wallMs() - suspendedAt;
    return this.#uptimeMs() - this.process.#suspendedMs - underWay * this.#rate;
  }

  /** After a reading, the process stands still now and then before it goes on with the value. */
  #read(ms: number): number {
    const pauseMs =
      this.#isWatched || this.#isDead || this.#halts.size > 0 ? 0 : (this.#faults?.pauseMs() ?? 0);
    if (pauseMs === 0) return ms;
    this.#pausedUntil = this.#wallMs() + pauseMs;
    this.#frozenMs += pauseMs * this.#rate;
    this.#scheduler.at(this.#pausedUntil, () => this.#goOnAfterPause());
    return ms;
  }

  #goOnAfterPause(): void {
    if (this.#scheduler.now < this.#pausedUntil || this.#isDead || this.#halts.size > 0) return;
    this.#handleWhatIsDue();
  }

  /** Converts a time of its own clock, since it was suspended last, to the clock on the wall. */
  wallTimeOf(ms: number): number {
    return (ms + this.#suspendedMs - this.#originMs) / this.#rate;
  }

  /** The same for the beginning of a lease. */
  wallTimeOfLease(instant: LeaseInstant): number {
    return this.watched(() => this.#scheduler.now - leaseAgeMs(this, instant) / this.#rate);
  }

  date(): Date {
    return new Date(1.7e12 + this.#scheduler.now);
  }

  /** Like Node's timers: whole milliseconds, at least one. */
  after(ms: number, task: () => void): Timer {
    const at = this.#wallMs() + Math.max(1, Math.ceil(ms)) / this.#rate;
    const happening = this.#scheduler.at(at, () => this.#happens('timer', timer.run));
    const timer = new RunningTimer(this.#timers, happening, task);
    return timer;
  }

  /** Something has come from the network. */
  receive(task: () => void): void {
    this.#happens('message', task);
  }

  freeze(): void {
    if (this.#isDead || this.#halts.has('frozen')) return;
    const loops = this.#loops;
    for (const each of loops) each.#halt('frozen');
    // What it does after a pause is done already, by the time of then.
    const isInPause = loops.some((each) => this.#scheduler.now < each.#pausedUntil);
    if (isInPause || this.#faults?.suspends() !== true) return;
    this.#suspendedAt = this.#scheduler.now;
    for (const each of loops) for (const { happening } of each.#timers) happening.cancelled = true;
  }

  /** This event loop stands still, and no other one of the process. */
  stall(): void {
    if (!this.#isDead) this.#halt('stalled');
  }

  endStall(): void {
    this.#goOnFrom('stalled');
  }

  #halt(why: 'frozen' | 'stalled'): void {
    if (this.#halts.size === 0) this.#frozenAt = this.#monotonicMs();
    if (this.#halts.size === 0) this.#haltedAt = this.#scheduler.now;
    this.#halts.add(why);
  }

  #goOnFrom(why: 'frozen' | 'stalled'): void {
    if (this.#isDead || !this.#halts.delete(why) || this.#halts.size > 0) return;
    this.#frozenMs += this.#monotonicMs() - this.#frozenAt;
    if (this.#scheduler.now >= this.#pausedUntil) this.#handleWhatIsDue();
  }

  #resume(suspendedAt: number): void {
    const ms = this.#scheduler.now - suspendedAt;
    this.#suspendedAt = undefined;
    this.#suspendedMs += ms * this.#rate;
    for (const each of this.#loops)
      for (const timer of each.#timers)
        timer.happening = this.#scheduler.at(timer.happening.at + ms, timer.happening.task);
  }

  thaw(): void {
    if (this.#isDead || !this.#halts.has('frozen')) return;
    if (this.#suspendedAt !== undefined) this.#resume(this.#suspendedAt);
    for (const each of this.#loops) each.#goOnFrom('frozen');
  }

  /** It runs again. */
  #handleWhatIsDue(): void {
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

  /** How much later than now the code that runs sends something. */
  get sendsLaterByMs(): number {
    return Math.max(0, this.#pausedUntil - this.#scheduler.now);
  }

  kill(): void {
    for (const thread of this.#threads) thread.kill();
    this.process.#threads.delete(this);
    this.#isDead = true;
    this.#halts.clear();
    this.#due = [];
    for (const { happening } of this.#timers) happening.cancelled = true;
    this.#timers.clear();
  }

  #happens(kind: Due['kind'], task: () => void): void {
    if (this.#isDead) return;
    if (this.isFrozen) return void this.#due.push({ kind, task });
    if (this.#hasPromises) this.#scheduler.followUp();
    if (this.#interruption === undefined) task();
    else this.#interrupt(this.#interruption, task);
  }

  #interrupt(interruption: Interruption, task: () => void): void {
    if (--interruption.stepsLeft > 0) return task();
    this.#interruption = undefined;
    const inOrder = [task, interruption.task];
    if (interruption.isBefore) inOrder.reverse();
    for (const each of inOrder) each();
  }
}

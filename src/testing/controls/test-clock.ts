import type { Socket } from 'node:net';
import { types } from 'node:util';
import { InvalidOptionError, InvalidStateError } from '../../errors.js';
import { checkGivenMs } from '../../platform/checks.js';
import { type Environment, systemEnvironment } from '../../platform/injected-environment.js';
import { type Clock, SystemClock, type Timer } from '../../platform/time/clock.js';
import { setImmediate } from '../../platform/time/timers.js';
import { mark } from '../../public-class/instance-brand.js';
import { showAs } from '../../public-class/shown-in-console.js';
import { checkWaitOptions, type WaitOptions, waitedTooLong } from './wait-for-events.js';

// After so many turns of the event loop without a byte in transit, all that a timer has started is done.
const QUIET_TURNS = 8;
const REST_WITHIN_MS = 1000;
const LONGEST_ADVANCE_MS = 600_000;

/**
 * A clock that only moves when a test advances it: session timeouts, leases, takeover delays and back-offs of minutes pass
 * in milliseconds, and in the same order each time.
 *
 * Guaranteed, for an {@link EmbeddedZooKeeper} and sessions of the same process that all have this clock: {@link advance}
 * lets everything that is sent arrive before time goes on, so no heartbeat comes late. Not guaranteed: that it waits for
 * other asynchronous work, such as files, other processes or other servers.
 *
 * @example
 * ```ts
 * const clock = new TestClock();
 * const server = await EmbeddedZooKeeper.start({ clock });
 * const session = await Session.connect(server.connectString, { environment: clock.environment });
 * await clock.advance(60_000); // A minute of heartbeats, in some milliseconds.
 * ```
 */
export class TestClock implements Clock {
  /** For the option `environment` of a session: the system's, with this clock. */
  readonly environment: Environment;
  readonly #startMs: number;
  #nowMs = 0;
  readonly #timers = new Map<Timer, { readonly dueMs: number; readonly task: () => void }>();
  readonly #sockets = new Set<Socket>();
  #lookups = 0;
  #advancing = false;

  /**
   * @param start - the time of day at which it begins; by default the system's
   * @throws InvalidOptionError if `start` is no date
   */
  constructor(start: Date = systemEnvironment.clock.date()) {
    // Not by `instanceof`: fake timers, and Jest, have their own class for dates.
    if (!types.isDate(start) || Number.isNaN(start.getTime()))
      throw new InvalidOptionError('start', start, 'a date');
    this.#startMs = start.getTime();
    this.environment = {
      ...systemEnvironment,
      clock: this,
      resolve: (host) => this.#lookUp(host),
      openSocket: (...target) => this.watch(systemEnvironment.openSocket(...target)),
    };
  }

  /** Milliseconds since its creation, as the test has advanced it. */
  now(): number {
    return this.#nowMs;
  }

  date(): Date {
    return new Date(this.#startMs + this.#nowMs);
  }

  after(ms: number, task: () => void): Timer {
    const timer: Timer = { clear: () => this.#timers.delete(timer) };
    this.#timers.set(timer, { dueMs: this.#nowMs + Math.max(0, ms), task });
    return timer;
  }

  /** How many timers are set: 0 when all that uses this clock has ended. */
  get timerCount(): number {
    return this.#timers.size;
  }

  /**
   * Lets `ms` milliseconds pass: runs each timer at its time, in order. After each it waits until the work that the timer
   * started is done, and what was sent between this process's sessions and its server has arrived.
   *
   * @throws InvalidOptionError if `ms` isn't 0 or more
   * @throws InvalidStateError if it is advancing already
   * @throws what a timer's task throws
   */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + checkGivenMs('ms', ms);
    await this.#move(endMs, async () => undefined);
  }

  /**
   * Lets time pass, from one timer to the next, until the promise `awaited` has settled, or the function `awaited`, which is
   * called after each step, returns a value that isn't falsy. Resolves with that value.
   *
   * Code that uses this clock waits forever if you don't advance it. That includes `stop`: `await clock.advanceUntil(supervisor.stop())`.
   *
   * @throws InvalidOptionError if an argument is wrong
   * @throws InvalidStateError if it is advancing already
   * @throws Error if this doesn't happen within `timeoutMs` milliseconds of this clock
   * @throws what `awaited` rejects with or throws, or a timer's task
   */
  async advanceUntil<T>(awaited: Promise<T> | (() => T | Promise<T>), options?: WaitOptions): Promise<T> {
    const { timeoutMs, what } = checkWaitOptions(options, LONGEST_ADVANCE_MS);
    const answer = await this.#move(this.#nowMs + timeoutMs, askerOf(awaited));
    if (answer === undefined) throw waitedTooLong(what ?? 'the awaited condition', timeoutMs);
    return answer.value;
  }

  /**
   * Moves the clock by `ms` milliseconds without running a timer: as in a process that was blocked, or on a machine that was
   * suspended. Timers that became due run at the next {@link advance}.
   *
   * @throws InvalidOptionError if `ms` isn't 0 or more
   */
  jump(ms: number): void {
    this.#nowMs += checkGivenMs('ms', ms);
  }

  /** @internal {@link advance} waits for the bytes that are in transit on this socket. */
  watch(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Goes from timer to timer until `ask` gives an answer, or to the end. */
  async #move<T>(endMs: number, ask: Asker<T>): Promise<Answer<T> | undefined> {
    if (this.#advancing)
      throw new InvalidStateError('the clock is already advancing: wait for that call first');
    this.#advancing = true;
    try {
      for (;;) {
        await this.#runDue();
        const answer = await ask();
        if (answer !== undefined) return answer;
        const next = this.#next();
        if (next === undefined || next.dueMs > endMs) break;
        this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      }
      this.#nowMs = Math.max(this.#nowMs, endMs);
      return undefined;
    } finally {
      this.#advancing = false;
    }
  }

  /** Runs the timers that are due now, and waits until the work that they started is done. */
  async #runDue(): Promise<void> {
    const dueMs = this.#nowMs; // A task may call `jump`.
    for (let next = this.#next(); next !== undefined && next.dueMs <= dueMs; next = this.#next()) {
      this.#timers.delete(next.timer);
      next.task();
      await turnOfTheLoop();
    }
    await this.#rest();
  }

  /** The timer that is due first; of several with the same time, the one that was set first. */
  #next() {
    let first: { timer: Timer; dueMs: number; task: () => void } | undefined;
    for (const [timer, { dueMs, task }] of this.#timers)
      if (first === undefined || dueMs < first.dueMs) first = { timer, dueMs, task };
    return first;
  }

  /** Waits until nothing is in transit; for a bounded time, since some work may never end. */
  async #rest(): Promise<void> {
    const systemClock = new SystemClock();
    const lastMs = systemClock.now() + REST_WITHIN_MS;
    for (let quiet = 0; quiet < QUIET_TURNS && systemClock.now() < lastMs; ) {
      await turnOfTheLoop();
      quiet = this.#isQuiet() ? quiet + 1 : 0;
    }
  }

  #isQuiet(): boolean {
    if (this.#lookups > 0) return false;
    const ends = new Map(
      [...this.#sockets].map((socket) => [`${socket.localPort}-${socket.remotePort}`, socket]),
    );
    return [...this.#sockets].every((socket) => {
      if (socket.connecting) return false;
      const other = ends.get(`${socket.remotePort}-${socket.localPort}`);
      return other === undefined || other.isPaused() || socket.bytesWritten === other.bytesRead;
    });
  }

  async #lookUp(host: string): Promise<readonly string[]> {
    this.#lookups++;
    try {
      return await systemEnvironment.resolve(host);
    } finally {
      this.#lookups--;
    }
  }
}

mark(TestClock, 'TestClock');
showAs(TestClock, (clock) => ({ nowMs: clock.now(), timerCount: clock.timerCount }));

interface Answer<T> {
  readonly value: T;
}

type Asker<T> = () => Promise<Answer<T> | undefined>;

/** Asks a promise whether it has settled, or a function for a value that isn't falsy. */
function askerOf<T>(awaited: Promise<T> | (() => T | Promise<T>)): Asker<T> {
  if (typeof awaited === 'function')
    return async () => {
      const value = await awaited();
      return value ? { value } : undefined;
    };
  if (typeof awaited?.then !== 'function')
    throw new InvalidOptionError('awaited', awaited, 'a promise or a function');
  let settled = false;
  const settle = () => {
    settled = true;
  };
  awaited.then(settle, settle);
  return async () => (settled ? { value: await awaited } : undefined);
}

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

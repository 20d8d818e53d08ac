import type { Socket } from 'node:net';
import { types } from 'node:util';
import { mark } from '../../classes/copies.js';
import { showAs } from '../../classes/inspection.js';
import { InvalidOptionError, InvalidStateError } from '../../errors.js';
import { checkMs } from '../../platform/checks.js';
import { type Environment, systemEnvironment } from '../../platform/environment.js';
import { type Clock, SystemClock, type Timer } from '../../platform/time/clock.js';
import { setImmediate } from '../../platform/time/timers.js';
import { checkWaitOptions, tooLate, type WaitOptions } from './waiting.js';

// After so many turns of the event loop without a byte on its way, whatever was set off has come to its end.
const QUIET_TURNS = 8;
const REST_WITHIN_MS = 1000;
const LONGEST_ADVANCE_MS = 600_000;

/**
 * A clock that stands still until a test moves it: session timeouts, leases, takeover delays and back-offs of minutes
 * pass in milliseconds, and in the same order each time.
 *
 * Guaranteed, for an {@link EmbeddedZooKeeper} and sessions of the same process that all have this clock: {@link advance}
 * lets everything that is sent arrive before time goes on, so no heartbeat comes late. Not guaranteed: that it waits
 * for anything else that isn't done at once, as files, other processes or other servers.
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
  /** For the option `environment` of a session: the machine's, but for time. */
  readonly environment: Environment;
  readonly #startMs: number;
  #nowMs = 0;
  readonly #timers = new Map<Timer, { readonly dueMs: number; readonly task: () => void }>();
  readonly #sockets = new Set<Socket>();
  #lookups = 0;
  #advancing = false;

  /**
   * @param start the time of day at which it begins
   * @default the machine's
   * @throws InvalidOptionError if `start` is no date
   */
  constructor(start: Date = systemEnvironment.clock.date()) {
    // Not by `instanceof`: of fake timers, and of Jest, each has a class of its own for dates.
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

  /** Milliseconds since it was made. */
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

  /** How many timers are set: 0 when whatever goes by this clock has come to its end. */
  get timerCount(): number {
    return this.#timers.size;
  }

  /**
   * Lets `ms` milliseconds pass: runs each timer at its time, in order, and after each waits until what it set off is
   * done, with all that is sent between this process's sessions and its server.
   *
   * @throws InvalidOptionError if `ms` isn't 0 or more
   * @throws InvalidStateError if it is advancing already
   * @throws what a timer's task throws
   */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + (checkMs('ms', ms) ?? 0);
    await this.#move(endMs, () => false);
  }

  /**
   * Lets time pass, from one timer to the next, until `awaited` has settled, if it is a promise, or gives something
   * that isn't falsy, if it is a function; it is asked again after each step. Resolves with that.
   *
   * Waiting for what goes by the clock without moving it waits for ever, stopping included:
   * `await clock.advanceUntil(supervisor.stop())`.
   *
   * @throws InvalidOptionError if an argument is wrong
   * @throws InvalidStateError if it is advancing already
   * @throws Error if it doesn't come within `timeoutMs` milliseconds of this clock
   * @throws what `awaited` rejects with or throws, or a timer's task
   */
  async advanceUntil<T>(awaited: Promise<T> | (() => T | Promise<T>), options?: WaitOptions): Promise<T> {
    const { timeoutMs, what } = checkWaitOptions(options, LONGEST_ADVANCE_MS);
    const answer = asked(awaited);
    const came = await this.#move(this.#nowMs + timeoutMs, answer.came);
    if (!came) throw tooLate(what ?? 'what was waited for', timeoutMs);
    return await answer.value();
  }

  /**
   * `ms` milliseconds are gone, and nothing has run meanwhile: a process that was blocked, or a machine that was
   * suspended. What became due runs at the next {@link advance}.
   *
   * @throws InvalidOptionError if `ms` isn't 0 or more
   */
  jump(ms: number): void {
    this.#nowMs += checkMs('ms', ms) ?? 0;
  }

  /** @internal What comes and goes over this socket is waited for. */
  watch(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Goes from timer to timer until `isThere`, if that comes before the end. */
  async #move(endMs: number, isThere: () => Promise<boolean> | boolean): Promise<boolean> {
    if (this.#advancing) throw new InvalidStateError('the clock is advancing already: wait for that first');
    this.#advancing = true;
    try {
      for (;;) {
        await this.#runDue();
        if (await isThere()) return true;
        const next = this.#next();
        if (next === undefined || next.dueMs > endMs) break;
        this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      }
      this.#nowMs = Math.max(this.#nowMs, endMs);
      return false;
    } finally {
      this.#advancing = false;
    }
  }

  /** Runs all that is due now, and waits until what that set off is done. */
  async #runDue(): Promise<void> {
    const dueMs = this.#nowMs; // A task may let the clock jump.
    for (let next = this.#next(); next !== undefined && next.dueMs <= dueMs; next = this.#next()) {
      this.#timers.delete(next.timer);
      next.task();
      await turnOfTheLoop();
    }
    await this.#rest();
  }

  /** The timer that is due first; of those that are due at once, the one that was set first. */
  #next() {
    let first: { timer: Timer; dueMs: number; task: () => void } | undefined;
    for (const [timer, { dueMs, task }] of this.#timers)
      if (first === undefined || dueMs < first.dueMs) first = { timer, dueMs, task };
    return first;
  }

  /** Waits until nothing is under way any more; in bounded time, since somebody may go on without end. */
  async #rest(): Promise<void> {
    const machine = new SystemClock();
    const lastMs = machine.now() + REST_WITHIN_MS;
    for (let quiet = 0; quiet < QUIET_TURNS && machine.now() < lastMs; ) {
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

/** Asks a promise or a function whether what is waited for has come. */
function asked<T>(awaited: Promise<T> | (() => T | Promise<T>)): {
  came(): Promise<boolean> | boolean;
  value(): T | Promise<T>;
} {
  if (typeof awaited === 'function') {
    let value: T;
    return {
      came: async () => {
        value = await awaited();
        return Boolean(value);
      },
      value: () => value,
    };
  }
  if (typeof awaited?.then !== 'function')
    throw new InvalidOptionError('awaited', awaited, 'a promise or a function');
  let settled = false;
  const settle = () => {
    settled = true;
  };
  awaited.then(settle, settle);
  return { came: () => settled, value: () => awaited };
}

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

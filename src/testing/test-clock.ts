import type { Socket } from 'node:net';
import { type Clock, SystemClock, type Timer } from '../clock.js';
import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { checkMs } from '../options.js';
import { type Environment, systemEnvironment } from '../session/environment.js';

// After so many turns of the event loop without a byte on its way, whatever was set off has come to its end.
const QUIET_TURNS = 8;
const REST_WITHIN_MS = 1000;

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
    if (!(start instanceof Date) || Number.isNaN(start.getTime()))
      throw new InvalidOptionError('start', start, 'a date');
    this.#startMs = start.getTime();
    this.environment = {
      ...systemEnvironment,
      clock: this,
      resolve: (host) => this.#lookUp(host),
      openSocket: (server) => this.watch(systemEnvironment.openSocket(server)),
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
    if (this.#advancing) throw new InvalidStateError('the clock is advancing already: wait for that first');
    this.#advancing = true;
    try {
      await this.#runDue();
      for (let next = this.#next(); next !== undefined && next.dueMs <= endMs; next = this.#next()) {
        this.#nowMs = next.dueMs;
        await this.#runDue();
      }
      this.#nowMs = Math.max(this.#nowMs, endMs);
    } finally {
      this.#advancing = false;
    }
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

  /** Runs all that is due now, with what that leads to. */
  async #runDue(): Promise<void> {
    do {
      for (let next = this.#next(); next !== undefined && next.dueMs <= this.#nowMs; next = this.#next()) {
        this.#timers.delete(next.timer);
        next.task();
        await turnOfTheLoop();
      }
      await this.#rest();
    } while ((this.#next()?.dueMs ?? Infinity) <= this.#nowMs);
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

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

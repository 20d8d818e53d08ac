import { isIP } from 'node:net';
import { ConnectTimeoutError, describe } from '../../errors.js';
import { type Abortable, LazyAbortController, onAbort } from '../../platform/async/lazy-abort-controller.js';
import { abortable } from '../../platform/async/promises.js';
import type { Environment, Server } from '../../platform/injected-environment.js';
import type { Logger } from '../../platform/logging/logger.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import { afterPendingInput, sleep } from '../../platform/time/clock.js';
import type { Handshake, HandshakeReply } from '../protocol/requests.js';
import { Connection, type ConnectionOwner } from './connection.js';
import { HandshakeLostError } from './connection-end.js';
import type { Outage } from './outage.js';
import type { Endpoint, Transport } from './transport.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
// This doesn't grow with the session timeout: a server that is starting stays silent, but answers a new connection a moment later.
const MAX_HANDSHAKE_MS = 5000;
// A connection that lasted this long shows that its server serves. After its loss the first round follows without a pause.
const SETTLED_AFTER_MS = 2000;

/** The pause after the `round`th round (from 1) in which no server accepted the session, in milliseconds. */
export function pauseMs(round: number, random: number): number {
  return jitteredPauseMs(round, random, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
}

/**
 * How long the handshake may take in the `round`th round (from 0), in milliseconds. At first it is so short that every address is tried
 * well before the session expires, because servers that are starting accept and stay silent. It is longer in each round, for slow servers.
 */
export function handshakeTimeoutMs(round: number, addresses: number, sessionTimeoutMs: number): number {
  const longest = Math.min(MAX_HANDSHAKE_MS, Math.max(200, sessionTimeoutMs / 3));
  const first = Math.max(200, Math.min(1000, longest / addresses));
  return Math.min(longest, first * 2 ** round);
}

/** The items in random order, so that the clients of one ensemble don't all begin with the same server. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const pick = Math.floor(random() * (last + 1));
    [result[last], result[pick]] = [result[pick] as T, result[last] as T];
  }
  return result;
}

/**
 * The addresses of one server in the order to try them. They are shuffled. Addresses of the family that the system lists first
 * come first, since a machine may have no route for the other family. The address that was tried last comes last.
 */
export function inTurn(found: readonly string[], last: string | undefined, random: () => number): string[] {
  const rank = (address: string) => (address === last ? 2 : Number(isIP(address) !== isIP(found[0] ?? '')));
  return shuffled([...new Set(found)], random).sort((a, b) => rank(a) - rank(b));
}

export interface DialerOptions {
  readonly servers: readonly Server[];
  readonly environment: Environment;
  /** Opens a connection. @throws Node's error if it refuses the options of TLS */
  readonly open: (endpoint: Endpoint) => Transport;
  readonly logger: Logger;
  /** The dialer notes each try here. The session notes the end. */
  readonly outage: Outage;
  /** Called after each try that failed. Must not throw. */
  readonly onTried: () => void;
}

export interface Dialed {
  readonly connection: Connection;
  readonly reply: HandshakeReply;
  /** The handshake that was sent to the server. */
  readonly handshake: Handshake;
}

/**
 * Finds a server that accepts the session. It tries one server after the other without a pause. After each round in vain it
 * pauses, for longer each time, with jitter. If a server accepts the session and then drops the connection, the try counts as
 * failed. The dialer looks up a server's name at each try, and tries all its addresses.
 */
export class Dialer {
  readonly #options: DialerOptions;
  readonly #servers: readonly Server[]; // In the order of the tries.
  /** How many addresses each server had when its name was last looked up; `undefined` if no name was looked up. */
  #addresses: Map<Server, number> | undefined;
  #next = 0;
  #turns = 0;
  #openedAt = Number.NEGATIVE_INFINITY;
  #last: Endpoint | undefined;
  #lastFailure: unknown;
  #handshakeLostAt = Number.NEGATIVE_INFINITY;

  constructor(options: DialerOptions) {
    this.#options = options;
    this.#servers = shuffled(options.servers, options.environment.random);
  }

  get lastFailure(): unknown {
    return this.#lastFailure;
  }

  /** When a handshake for a known session was last sent and not answered, by the session's clock. That server may have the session now. */
  get handshakeLostAt(): number {
    return this.#handshakeLostAt;
  }

  /**
   * Tries servers until one answers the handshake that `makeHandshake` gives. Calls `isNeeded` between two tries.
   * @throws the signal's reason when it aborts, a ConnectTimeoutError when no server is needed any more
   */
  async dial(
    makeHandshake: () => Handshake,
    owner: ConnectionOwner,
    isNeeded: () => boolean,
    signal: Abortable,
  ): Promise<Dialed> {
    if (this.#options.environment.clock.now() - this.#openedAt > SETTLED_AFTER_MS) this.#turns = 0;
    this.#options.onTried(); // The last server may have accepted the session and dropped the connection before it served.
    while (isNeeded()) {
      signal.throwIfAborted();
      if (this.#turns > 0 && this.#turns % this.#servers.length === 0) await this.#pause(signal);
      this.#turns++;
      this.#options.outage.tried(this.#options.environment.clock.now());
      const server = this.#servers[this.#next++ % this.#servers.length] as Server;
      for (const address of await this.#resolve(server, makeHandshake().timeoutMs, signal)) {
        if (!isNeeded()) break;
        const opened = await this.#try({ server, address }, makeHandshake(), owner, signal);
        if (opened !== undefined) return opened;
      }
      this.#options.onTried();
    }
    throw new ConnectTimeoutError('no server accepted the session');
  }

  #pause(signal: Abortable): Promise<void> {
    const { clock, random } = this.#options.environment;
    return sleep(clock, pauseMs(this.#turns / this.#servers.length, random()), signal);
  }

  /** A server's addresses in the order to try them; none if its name can't be looked up in time. */
  async #resolve(server: Server, sessionTimeoutMs: number, signal: Abortable): Promise<readonly string[]> {
    if (isIP(server.host) !== 0) return [server.host];
    const { random } = this.#options.environment;
    try {
      const found = await this.#inTime(`the name ${server.host}`, sessionTimeoutMs, signal, (timeout) =>
        abortable(this.#options.environment.resolve(server.host), timeout),
      );
      const addresses = inTurn(found, this.#last?.server === server ? this.#last.address : undefined, random);
      this.#addresses ??= new Map();
      this.#addresses.set(server, Math.max(1, addresses.length));
      return addresses;
    } catch (error) {
      return this.#fail(server, server.host, error, signal);
    }
  }

  async #try(
    endpoint: Endpoint,
    handshake: Handshake,
    owner: ConnectionOwner,
    signal: Abortable,
  ): Promise<Dialed | undefined> {
    const { server, address } = endpoint;
    const { clock } = this.#options.environment;
    this.#last = endpoint;
    try {
      const opened = await this.#inTime(
        `${address}:${server.port}`,
        handshake.timeoutMs,
        signal,
        (timeout) => {
          const transport = this.#options.open(endpoint);
          return Connection.open(server, transport, handshake, clock, owner, timeout);
        },
      );
      this.#openedAt = clock.now();
      return { ...opened, handshake };
    } catch (error) {
      if (error instanceof HandshakeLostError && handshake.id !== 0n) this.#handshakeLostAt = clock.now();
      this.#fail(server, address, error, signal);
      return undefined;
    }
  }

  #fail(server: Server, address: string, error: unknown, signal: Abortable): [] {
    if (signal.aborted) throw signal.reason;
    this.#lastFailure = error;
    this.#options.outage.failed({ host: address, port: server.port }, error);
    this.#options.logger.debug({ server, cause: describe(error) }, 'no session from this server');
    return [];
  }

  /** Gives `task` a signal that aborts with `signal`, or when this try has used its share of the time. */
  async #inTime<T>(
    what: string,
    sessionTimeoutMs: number,
    signal: Abortable,
    task: (signal: Abortable) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const round = Math.floor((this.#turns - 1) / this.#servers.length);
    const endpoints = this.#servers.reduce((sum, server) => sum + (this.#addresses?.get(server) ?? 1), 0);
    const timeoutMs = handshakeTimeoutMs(round, endpoints, sessionTimeoutMs);
    const timeout = new LazyAbortController();
    const timer = afterPendingInput(this.#options.environment.clock, timeoutMs, () => {
      timeout.abort(new ConnectTimeoutError(`no answer from ${what} within ${Math.round(timeoutMs)} ms`));
    });
    const unsubscribe = onAbort(signal, () => timeout.abort(signal.reason));
    try {
      return await task(timeout);
    } finally {
      timer.clear();
      unsubscribe();
    }
  }
}

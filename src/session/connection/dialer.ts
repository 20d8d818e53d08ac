import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { ConnectTimeoutError, describe } from '../../errors.js';
import { type Abortable, LazyAbortController, onAbort } from '../../platform/async/lazy-abort.js';
import { abortable } from '../../platform/async/promises.js';
import type { Environment, Server } from '../../platform/environment.js';
import type { Logger } from '../../platform/logging/logger.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import { afterPendingInput, sleep } from '../../platform/time/clock.js';
import type { Handshake, HandshakeReply } from '../protocol/requests.js';
import { Connection, type ConnectionOwner, HandshakeLostError } from './connection.js';
import type { Outage } from './outage.js';
import { type Endpoint, openTransport } from './transport.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
// However long the session: a server that is starting stays silent, and is as good as new a moment later.
const LONGEST_HANDSHAKE_MS = 5000;
// A connection that lasted this long shows that its server serves: the next loss starts without a pause again.
const SETTLED_AFTER_MS = 2000;

/** How long to wait after the `round`th round (from 1) in which no server took the session. */
export function pauseMs(round: number, random: number): number {
  return jitteredPauseMs(round, random, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
}

/**
 * How long a server may take to answer the handshake, in the `round`th round (from 0). At first so short that every
 * address has its turn well before the session expires, also when some accept and stay silent, as one that is starting
 * does; longer in each round, for servers that are slow.
 */
export function handshakeTimeoutMs(round: number, addresses: number, sessionTimeoutMs: number): number {
  const longest = Math.min(LONGEST_HANDSHAKE_MS, Math.max(200, sessionTimeoutMs / 3));
  const first = Math.max(200, Math.min(1000, longest / addresses));
  return Math.min(longest, first * 2 ** round);
}

/** The servers in another order, so that the clients of one ensemble don't all begin with the same one. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const pick = Math.floor(random() * (last + 1));
    [result[last], result[pick]] = [result[pick] as T, result[last] as T];
  }
  return result;
}

/**
 * The addresses of one server in the order to try them: shuffled, but first those of the family that the system lists
 * first, since a machine without a route for the other one would only lose time; and last the one tried last.
 */
export function inTurn(found: readonly string[], last: string | undefined, random: () => number): string[] {
  const rank = (address: string) => (address === last ? 2 : Number(isIP(address) !== isIP(found[0] ?? '')));
  return shuffled([...new Set(found)], random).sort((a, b) => rank(a) - rank(b));
}

/** What a dialer goes by. */
export interface DialerOptions {
  readonly servers: readonly Server[];
  readonly environment: Environment;
  readonly tls: ConnectionOptions | undefined;
  readonly logger: Logger;
  /** The time without a server: told here of each that has its turn, and of its end by who is served. */
  readonly outage: Outage;
  /** A server has had its turn, in vain. Must not throw. */
  readonly onTried: () => void;
}

/** A server that has answered a handshake. */
export interface Dialled {
  readonly connection: Connection;
  readonly reply: HandshakeReply;
  /** What it was shown. */
  readonly handshake: Handshake;
}

/**
 * Finds a server that takes the session: one after the other, the next one at once, and after each round in vain a
 * pause that grows, with jitter. A server that accepts and then drops the connection counts as in vain. Names are
 * looked up anew each time a server has its turn, and all its addresses are tried.
 */
export class Dialer {
  readonly #servers: readonly Server[];
  readonly #environment: Environment;
  readonly #tls: ConnectionOptions | undefined;
  readonly #logger: Logger;
  readonly #outage: Outage;
  readonly #onTried: () => void;
  /** How many addresses each server had when its name was last looked up, if one was. */
  #addresses: Map<Server, number> | undefined;
  #next = 0;
  #turns = 0;
  #openedAt = Number.NEGATIVE_INFINITY;
  #last: Endpoint | undefined;
  #lastFailure: unknown;
  #handshakeLostAt = Number.NEGATIVE_INFINITY;

  constructor({ servers, environment, tls, logger, outage, onTried }: DialerOptions) {
    this.#servers = shuffled(servers, environment.random);
    this.#environment = environment;
    this.#tls = tls;
    this.#logger = logger;
    this.#outage = outage;
    this.#onTried = onTried;
  }

  /** Why the last try failed, if any has. */
  get lastFailure(): unknown {
    return this.#lastFailure;
  }

  /** When a handshake was last left without an answer, by the session's clock: that server may have the session now. */
  get handshakeLostAt(): number {
    return this.#handshakeLostAt;
  }

  /**
   * Tries servers until one answers the handshake, or `worthwhile` says no between two tries.
   *
   * @param greet - what to show to the next server: asked anew for each
   * @throws the signal's reason when it aborts, a ConnectTimeoutError when it isn't worthwhile any more
   */
  async dial(
    greet: () => Handshake,
    owner: ConnectionOwner,
    worthwhile: () => boolean,
    signal: Abortable,
  ): Promise<Dialled> {
    if (this.#environment.clock.now() - this.#openedAt > SETTLED_AFTER_MS) this.#turns = 0;
    this.#onTried(); // The last one may have taken the session, and let go of it before it served.
    while (worthwhile()) {
      signal.throwIfAborted();
      if (this.#turns > 0 && this.#turns % this.#servers.length === 0) await this.#pause(signal);
      this.#turns++;
      this.#outage.tried(this.#environment.clock.now());
      const server = this.#servers[this.#next++ % this.#servers.length] as Server;
      for (const address of await this.#resolve(server, greet().timeoutMs, signal)) {
        if (!worthwhile()) break;
        const opened = await this.#try({ server, address }, greet(), owner, signal);
        if (opened !== undefined) return opened;
      }
      this.#onTried();
    }
    throw new ConnectTimeoutError('no server took the session');
  }

  #pause(signal: Abortable): Promise<void> {
    const { clock, random } = this.#environment;
    return sleep(clock, pauseMs(this.#turns / this.#servers.length, random()), signal);
  }

  /** A server's addresses, in the order to try them: none if its name can't be looked up in time. */
  async #resolve(server: Server, sessionTimeoutMs: number, signal: Abortable): Promise<readonly string[]> {
    if (isIP(server.host) !== 0) return [server.host];
    const { random } = this.#environment;
    try {
      const found = await this.#inTime(`the name ${server.host}`, sessionTimeoutMs, signal, (tooLate) =>
        abortable(this.#environment.resolve(server.host), tooLate),
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
  ): Promise<Dialled | undefined> {
    const { server, address } = endpoint;
    const { clock } = this.#environment;
    this.#last = endpoint;
    try {
      const opened = await this.#inTime(
        `${address}:${server.port}`,
        handshake.timeoutMs,
        signal,
        (tooLate) => {
          const transport = openTransport(endpoint, this.#environment, this.#tls);
          return Connection.open(server, transport, handshake, clock, owner, tooLate);
        },
      );
      this.#openedAt = clock.now();
      return { ...opened, handshake };
    } catch (error) {
      if (error instanceof HandshakeLostError) this.#handshakeLostAt = clock.now();
      this.#fail(server, address, error, signal);
      return undefined;
    }
  }

  #fail(server: Server, address: string, error: unknown, signal: Abortable): [] {
    if (signal.aborted) throw signal.reason;
    this.#lastFailure = error;
    this.#outage.failed({ host: address, port: server.port }, error);
    this.#logger.debug({ server, cause: describe(error) }, 'no session from this server');
    return [];
  }

  /** Gives `task` a signal that aborts with `signal`, or when its share of the time is over. */
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
    const giveUp = new LazyAbortController();
    const timer = afterPendingInput(this.#environment.clock, timeoutMs, () => {
      giveUp.abort(new ConnectTimeoutError(`no answer from ${what} in ${Math.round(timeoutMs)} ms`));
    });
    const takeBack = onAbort(signal, () => giveUp.abort(signal.reason));
    try {
      return await task(giveUp);
    } finally {
      timer.clear();
      takeBack();
    }
  }
}

import { isIP } from 'node:net';
import { AuthenticationError, ConnectTimeoutError, describe } from '../../errors.js';
import { type Abortable, LazyAbortController, onAbort } from '../../platform/async/lazy-abort-controller.js';
import { abortable } from '../../platform/async/promises.js';
import type { Environment, Server } from '../../platform/injected-environment.js';
import type { Logger } from '../../platform/logging/logger.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import { afterPendingInput, sleep } from '../../platform/time/clock.js';
import type { Handshake, HandshakeReply } from '../protocol/requests.js';
import { Connection, type ConnectionOwner } from './connection.js';
import { HandshakeLostError } from './connection-end.js';
import type { Answer, AskedOption } from './option-source.js';
import type { Outage } from './outage.js';
import { type ConnectSource, renewed, shuffled } from './server-list.js';
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

/**
 * The addresses of one server in the order to try them. They are shuffled. Addresses of the family that the system lists first
 * come first, since a machine may have no route for the other family. The address that was tried last comes last.
 */
export function inTurn(found: readonly string[], last: string | undefined, random: () => number): string[] {
  const rank = (address: string) => (address === last ? 2 : Number(isIP(address) !== isIP(found[0] ?? '')));
  return shuffled([...new Set(found)], random).sort((a, b) => rank(a) - rank(b));
}

export interface DialerOptions {
  readonly connect: ConnectSource;
  /** The other options that may be functions. All tries of a round use the values that were given before it. */
  readonly sources: readonly AskedOption[];
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
 *
 * At the beginning of a search and before each further round it asks the options that are functions. If one of them fails, nothing is
 * tried, and that counts as a round in vain. But if `connect()` fails, or doesn't answer in time, the round uses the former list.
 */
export class Dialer {
  readonly #options: DialerOptions;
  readonly #functions: readonly AskedOption[];
  #servers: readonly Server[]; // In the order of the tries.
  /** How many addresses each server had when its name was last looked up; `undefined` if no name was looked up. */
  #addresses: Map<Server, number> | undefined;
  #next = 0;
  #rounds = 0; // How many rounds in a row were in vain.
  #tries = 0; // How many servers of the present round were tried.
  #mustAsk = false;
  #openedAt = Number.NEGATIVE_INFINITY;
  #last: Endpoint | undefined;
  #lastFailure: unknown;
  #refusal: AuthenticationError | undefined; // Of the present round.
  #handshakeLostAt = Number.NEGATIVE_INFINITY;

  constructor(options: DialerOptions) {
    this.#options = options;
    const { connect, sources, environment } = options;
    this.#functions = [connect, ...sources].filter((source) => source.isFunction);
    this.#servers = shuffled(connect.newest?.servers ?? [], environment.random);
  }

  get lastFailure(): unknown {
    return this.#lastFailure;
  }

  /** When a handshake for a known session was last sent and not answered, by the session's clock. That server may have the session now. */
  get handshakeLostAt(): number {
    return this.#handshakeLostAt;
  }

  /** A search begins, in which `dial` may be called more than once. */
  beginSearch(): void {
    this.#mustAsk = this.#functions.length > 0;
  }

  /**
   * Tries servers until one answers the handshake that `makeHandshake` gives. Calls `isNeeded` between two tries.
   * @throws the signal's reason when it aborts, a ConnectTimeoutError when no server is needed any more; and before any session of the
   *   owner was served, an InvalidOptionError when a function has given a wrong value, an AuthenticationError when in a whole round no server
   *   has served and one has refused the credentials
   */
  async dial(
    makeHandshake: () => Handshake,
    owner: ConnectionOwner,
    isNeeded: () => boolean,
    signal: Abortable,
  ): Promise<Dialed> {
    if (this.#options.environment.clock.now() - this.#openedAt > SETTLED_AFTER_MS)
      [this.#rounds, this.#tries, this.#refusal] = [0, 0, undefined];
    this.#reportTried(); // The last server may have accepted the session and dropped the connection before it served.
    while (isNeeded()) {
      signal.throwIfAborted();
      if (this.#tries > 0 && this.#tries >= this.#servers.length) await this.#endRound(signal);
      if (this.#mustAsk && !(await this.#ask(makeHandshake().timeoutMs, signal))) {
        this.#reportTried();
        continue;
      }
      this.#tries++;
      this.#options.outage.tried(this.#options.environment.clock.now());
      const server = this.#servers[this.#next++ % this.#servers.length] as Server;
      for (const address of await this.#resolve(server, makeHandshake().timeoutMs, signal)) {
        if (!isNeeded()) break;
        const opened = await this.#try({ server, address }, makeHandshake(), owner, signal);
        if (opened !== undefined) return opened;
      }
      this.#reportTried();
    }
    throw new ConnectTimeoutError('no server accepted the session');
  }

  /** A try has failed. @throws AuthenticationError if it was the last one of a round, as {@link dial} says */
  #reportTried(): void {
    const { outage, onTried } = this.#options;
    const isRoundOver = this.#tries >= this.#servers.length;
    // Later, passwords and servers change one by one, so another round may find a server that knows the credentials.
    if (isRoundOver && this.#refusal !== undefined && !outage.hasServed) throw this.#refusal;
    onTried();
  }

  #endRound(signal: Abortable): Promise<void> {
    const { clock, random } = this.#options.environment;
    this.#refusal = undefined;
    this.#rounds++;
    this.#tries = 0;
    this.beginSearch();
    return sleep(clock, pauseMs(this.#rounds, random()), signal);
  }

  /** Asks all functions at the same time. `false` if one of them fails. */
  async #ask(sessionTimeoutMs: number, signal: Abortable): Promise<boolean> {
    const asked = this.#functions.map((source) => this.#hear(source, sessionTimeoutMs, signal));
    const haveAnswered = (await Promise.all(asked)).every(Boolean);
    this.#useList();
    if (haveAnswered) this.#mustAsk = false;
    else this.#tries = Math.max(1, this.#servers.length); // A round in vain.
    return haveAnswered;
  }

  /** Waits for a function's answer as long as it takes, or while the search goes on. `false` if there is no value for this round. */
  async #hear(source: AskedOption, sessionTimeoutMs: number, signal: Abortable): Promise<boolean> {
    const { connect, outage, onTried, environment, logger } = this.#options;
    const asking = source.ask();
    for (;;) {
      const answer = await this.#answerInTime(source, asking, sessionTimeoutMs, signal);
      if (answer.name === 'given') return true;
      if (answer.name === 'wrong' && !outage.hasServed) throw answer.error;
      const fields = { err: answer.error };
      if (source === connect) logger.debug(fields, 'connect() gave no servers');
      else logger.debug({ option: source.name, ...fields }, 'an option gave no value');
      if (source === connect && connect.newest !== undefined) return true;
      outage.tried(environment.clock.now(), Math.max(1, this.#servers.length));
      this.#noteFailure(source.name, answer.error);
      if (answer.name !== 'late') return false;
      onTried(); // Otherwise a function that never answers would not be reported.
    }
  }

  async #answerInTime(
    { name }: AskedOption,
    asking: Promise<Answer>,
    sessionTimeoutMs: number,
    signal: Abortable,
  ): Promise<Answer | { readonly name: 'late'; readonly error: unknown }> {
    try {
      return await this.#inTime(name, sessionTimeoutMs, signal, (timeout) => abortable(asking, timeout));
    } catch (error) {
      signal.throwIfAborted();
      return { name: 'late', error };
    }
  }

  /** Servers that were listed before keep their order, so that no server is left out when the list changes often. */
  #useList(): void {
    const listed = this.#options.connect.newest?.servers ?? [];
    const at = this.#next % Math.max(1, this.#servers.length);
    const present = [...this.#servers.slice(at), ...this.#servers.slice(0, at)];
    const servers = renewed(present, listed, this.#options.environment.random);
    if (servers === present) return;
    [this.#servers, this.#next] = [servers, 0];
    this.#addresses = undefined;
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
      checkVersion(opened);
      this.#openedAt = clock.now();
      return { ...opened, handshake };
    } catch (error) {
      if (error instanceof HandshakeLostError && handshake.id !== 0n) this.#handshakeLostAt = clock.now();
      this.#fail(server, address, error, signal);
      return undefined;
    }
  }

  /** @param at - the server's address, or the function that failed */
  #noteFailure(at: Server | string, error: unknown): void {
    this.#lastFailure = error;
    if (error instanceof AuthenticationError) this.#refusal ??= error;
    this.#options.outage.failed(at, error);
  }

  /** A try has failed, also after the server has accepted the session. */
  noteFailure(server: Server, error: unknown, address = server.host): void {
    this.#noteFailure({ host: address, port: server.port }, error);
    this.#options.logger.debug({ server, cause: describe(error) }, 'no session from this server');
  }

  #fail(server: Server, address: string, error: unknown, signal: Abortable): [] {
    if (signal.aborted) throw signal.reason;
    this.noteFailure(server, error, address);
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
    const endpoints = this.#servers.reduce((sum, server) => sum + (this.#addresses?.get(server) ?? 1), 0);
    const timeoutMs = handshakeTimeoutMs(this.#rounds, endpoints, sessionTimeoutMs);
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

/** @throws Error if the server has answered the handshake, but takes no session: ClickHouse Keeper does so while it starts */
function checkVersion({ connection, reply }: Omit<Dialed, 'handshake'>): void {
  if (reply.protocolVersion === 0) return;
  const error = new Error(`the server takes no session now (protocol version ${reply.protocolVersion})`);
  connection.destroy(error);
  throw error;
}

import { isIP } from 'node:net';
import { AuthenticationError, ConnectTimeoutError, describe } from '../../errors.js';
import { type Abortable, LazyAbortController, onAbort } from '../../platform/async/lazy-abort-controller.js';
import { abortable } from '../../platform/async/promises.js';
import type { Environment, Server } from '../../platform/injected-environment.js';
import type { Logger } from '../../platform/logging/logger.js';
import { lookUp } from '../../platform/name-lookups.js';
import { jitteredPauseMs } from '../../platform/retry/backoff.js';
import { afterPendingInput, sleep } from '../../platform/time/clock.js';
import type { Handshake, HandshakeReply } from '../protocol/requests.js';
import { Connection, type ConnectionOwner } from './connection.js';
import { HandshakeLostError } from './connection-end.js';
import type { AskedOption, OptionAnswer } from './option-source.js';
import { type Outage, OwnFailure } from './outage.js';
import { type ConnectSource, renewed, shuffled } from './server-list.js';
import type { Endpoint, Transport } from './tcp-and-tls.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
// This doesn't grow with the session timeout: a server that is starting stays silent, but answers a new connection a moment later.
const MAX_HANDSHAKE_MS = 5000;
// A server that served for so long serves well. After the loss of its connection the first round follows without a pause.
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

export interface ServerRoundsOptions {
  readonly connect: ConnectSource;
  /** The other options that may be functions. All tries of a round use the values that were given before it. */
  readonly sources: readonly AskedOption[];
  readonly environment: Environment;
  /** Opens a connection. @throws Node's error if it refuses the options of TLS */
  readonly open: (endpoint: Endpoint) => Transport;
  readonly logger: Logger;
  /** The rounds note each try here. The session notes the end. */
  readonly outage: Outage;
  /** Called when all addresses of a server were tried, and when a function gave no value. Must not throw. */
  readonly onTried: () => void;
}

export interface Dialed {
  readonly connection: Connection;
  readonly reply: HandshakeReply;
  /** The handshake that was sent to the server. */
  readonly handshake: Handshake;
}

/**
 * Finds a server that accepts the session. It tries one server after the other without a pause, in rounds. After each round in vain it
 * pauses, for longer each time, with jitter. A server that accepts the session and doesn't serve it was tried in vain, too.
 *
 * At the beginning of a search and before each further round it asks the options that are functions. If one of them fails, nothing is
 * tried, and that counts as a round in vain. But if `connect()` fails, or doesn't answer in time, the round uses the former list.
 */
export class ServerRounds {
  readonly #options: ServerRoundsOptions;
  readonly #functions: readonly AskedOption[];
  #servers: readonly Server[]; // In the order of the tries.
  /** How many addresses each server had when its name was last looked up. */
  readonly #addressCounts = new WeakMap<Server, number>();
  #round = new Round(0);
  #mustAsk = false;
  #hasWarned = false; // Of `connect()`, since it last gave servers.
  #servedAt = Number.NEGATIVE_INFINITY;
  #last: Endpoint | undefined;
  #lastFailure: unknown;
  #handshakeLostAt = Number.NEGATIVE_INFINITY;

  constructor(options: ServerRoundsOptions) {
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

  /** A search begins, in which `dial` may be called more than once. It goes on with the present round, if a server has hardly served. */
  beginSearch(): void {
    const { environment, onTried } = this.#options;
    if (environment.clock.now() - this.#servedAt > SETTLED_AFTER_MS) {
      this.#beginRound(0);
      onTried(); // The owner's session before this one may have been given up before its first try had failed.
    } else {
      this.#mustAsk = this.#functions.length > 0;
      if (this.#last !== undefined) this.#round.leaveIfTried(this.#last.server);
    }
  }

  /** The search is over: the server that was dialed last serves the session. */
  served(): void {
    this.#servedAt = this.#options.environment.clock.now();
  }

  #beginRound(number: number): void {
    this.#round = new Round(number, this.#last);
    this.#mustAsk = this.#functions.length > 0;
    const at = this.#servers.indexOf(this.#last?.server as Server) + 1;
    this.#servers = [...this.#servers.slice(at), ...this.#servers.slice(0, at)];
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
    const { outage, environment } = this.#options;
    while (isNeeded()) {
      signal.throwIfAborted();
      outage.searched(environment.clock.now());
      if (this.#round.isOver(this.#servers)) await this.#nextRound(signal);
      if (this.#mustAsk && !(await this.#ask(makeHandshake().timeoutMs, signal))) {
        this.#reportTried();
        continue;
      }
      const server = this.#round.next(this.#servers);
      if (server === undefined) continue; // A function has named other servers.
      if (!this.#round.hasFound(server)) outage.tried();
      const address = await this.#nextAddress(server, makeHandshake().timeoutMs, signal);
      if (address === undefined) {
        this.#round.leave(server);
        this.#reportTried();
      } else if (isNeeded()) {
        const opened = await this.#try({ server, address }, makeHandshake(), owner, signal);
        if (opened !== undefined) return opened;
      }
    }
    throw new ConnectTimeoutError('no server accepted the session');
  }

  /** @throws AuthenticationError at the end of a round, as {@link dial} says */
  #reportTried(): void {
    const { outage, onTried } = this.#options;
    const { refusal } = this.#round;
    // Later, passwords and servers change one by one, so another round may find a server that knows the credentials.
    if (refusal !== undefined && !outage.hasServed && this.#round.isOver(this.#servers)) throw refusal;
    onTried();
  }

  #nextRound(signal: Abortable): Promise<void> {
    const { clock, random } = this.#options.environment;
    this.#beginRound(this.#round.number + 1);
    return sleep(clock, pauseMs(this.#round.number, random()), signal);
  }

  /** Asks all functions at the same time. `false` if one of them fails. */
  async #ask(sessionTimeoutMs: number, signal: Abortable): Promise<boolean> {
    const asked = this.#functions.map((source) => this.#hear(source, sessionTimeoutMs, signal));
    const haveAnswered = (await Promise.all(asked)).every(Boolean);
    this.#useList();
    if (haveAnswered) this.#mustAsk = false;
    else this.#round.giveUp();
    return haveAnswered;
  }

  /** Waits for a function's answer as long as it takes, or while the search goes on. `false` if there is no value for this round. */
  async #hear(source: AskedOption, sessionTimeoutMs: number, signal: Abortable): Promise<boolean> {
    const { connect, outage, onTried, logger } = this.#options;
    const asking = source.ask();
    for (;;) {
      const answer = await this.#answerInTime(source, asking, sessionTimeoutMs, signal);
      if (answer.name === 'given') {
        if (source === connect) this.#hasWarned = false;
        return true;
      }
      if (answer.name === 'wrong' && !outage.hasServed) throw answer.error;
      const fields = { err: answer.error };
      if (source !== connect) logger.debug({ option: source.name, ...fields }, 'an option gave no value');
      else if (!this.#hasWarned) {
        this.#hasWarned = true;
        logger.warn(fields, 'connect() gave no servers');
      }
      if (source === connect && connect.newest !== undefined) return true;
      outage.tried(Math.max(1, this.#servers.length));
      this.#noteFailure(source.name, new OwnFailure(answer.error));
      if (answer.name !== 'late') return false;
      onTried(); // Otherwise a function that never answers would not be reported.
    }
  }

  async #answerInTime(
    { name }: AskedOption,
    asking: Promise<OptionAnswer>,
    sessionTimeoutMs: number,
    signal: Abortable,
  ): Promise<OptionAnswer | { readonly name: 'late'; readonly error: unknown }> {
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
    this.#servers = renewed(this.#servers, listed, this.#options.environment.random);
  }

  /** The server's next address in this round, by what its name means now; `undefined` if all were tried, or none can be found in time. */
  async #nextAddress(
    server: Server,
    sessionTimeoutMs: number,
    signal: Abortable,
  ): Promise<string | undefined> {
    const { environment } = this.#options;
    const round = this.#round;
    if (round.needsAddresses(server, environment.clock.now())) {
      try {
        const found = await this.#inTime(`the name ${server.host}`, sessionTimeoutMs, signal, (timeout) =>
          abortable(lookUp(server.host, environment), timeout),
        );
        round.found(server, found, environment.clock.now(), environment.random);
        this.#addressCounts.set(server, Math.max(1, found.length));
      } catch (error) {
        // Addresses that were found before in this round are still tried.
        if (!round.hasFound(server)) this.#fail(server, server.host, error, signal);
        signal.throwIfAborted();
      }
    }
    return round.takeAddress(server);
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
      return { ...opened, handshake };
    } catch (error) {
      if (error instanceof HandshakeLostError && handshake.id !== 0n) this.#handshakeLostAt = clock.now();
      return this.#fail(server, address, error, signal);
    }
  }

  /** @param at - the server's address, or the function that failed */
  #noteFailure(at: Server | string, failure: unknown): void {
    this.#lastFailure = causeOf(failure);
    if (failure instanceof AuthenticationError) this.#round.refusal ??= failure;
    this.#options.outage.failed(at, failure);
  }

  /** A try has failed, also after the server has accepted the session. */
  noteFailure(server: Server, failure: unknown, address = server.host): void {
    this.#noteFailure({ host: address, port: server.port }, failure);
    this.#options.logger.debug({ server, cause: describe(causeOf(failure)) }, 'no session from this server');
  }

  #fail(server: Server, address: string, error: unknown, signal: Abortable): undefined {
    if (signal.aborted) throw signal.reason;
    this.noteFailure(server, error, address);
  }

  /** Gives `task` a signal that aborts with `signal`, or when this try has used its share of the time. */
  async #inTime<T>(
    what: string,
    sessionTimeoutMs: number,
    signal: Abortable,
    task: (signal: Abortable) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const endpoints = this.#servers.reduce((sum, server) => sum + (this.#addressCounts.get(server) ?? 1), 0);
    const timeoutMs = handshakeTimeoutMs(this.#round.number, endpoints, sessionTimeoutMs);
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

function causeOf(failure: unknown): unknown {
  return failure instanceof OwnFailure ? failure.cause : failure;
}

/** @throws Error if the server has answered the handshake, but takes no session: ClickHouse Keeper does so while it starts */
function checkVersion({ connection, reply }: Omit<Dialed, 'handshake'>): void {
  if (reply.protocolVersion === 0) return;
  const error = new Error(`the server takes no session now (protocol version ${reply.protocolVersion})`);
  connection.destroy(error);
  throw error;
}

/** A name's addresses are those of now for so long, in milliseconds. A silent address takes longer, so the name is looked up again after it. */
const FRESH_MS = 200;

/** What a round knows of one server. */
interface Visit {
  /** In the order to try them. */
  readonly addresses: readonly string[];
  readonly foundAtMs: number;
  readonly tried: Set<string>;
}

/**
 * One round of tries: each address of each server once, by what the names mean at the time. It goes on while servers accept the session
 * and don't serve it, whatever that takes.
 */
export class Round {
  /** How many rounds in a row were in vain before this one. */
  readonly number: number;
  /** The first refusal of the credentials. */
  refusal: AuthenticationError | undefined;
  readonly #before: Endpoint | undefined;
  readonly #visits = new Map<Server, Visit>();
  readonly #done = new Set<Server>();
  #isInVain = false;

  /** @param before - the last try of the rounds before: its address comes last */
  constructor(number: number, before?: Endpoint) {
    this.number = number;
    this.#before = before;
  }

  /** The server whose turn it is; `undefined` if all of them were tried. */
  next(servers: readonly Server[]): Server | undefined {
    return servers.find((server) => !this.#done.has(server));
  }

  isOver(servers: readonly Server[]): boolean {
    return this.#isInVain || (this.#done.size > 0 && this.next(servers) === undefined);
  }

  /** No server can be tried in this round. */
  giveUp(): void {
    this.#isInVain = true;
  }

  /** All addresses of the server were tried, or none can be found. */
  leave(server: Server): void {
    this.#done.add(server);
  }

  leaveIfTried(server: Server): void {
    if (this.#untried(server) === undefined) this.leave(server);
  }

  needsAddresses(server: Server, nowMs: number): boolean {
    return nowMs - (this.#visits.get(server)?.foundAtMs ?? Number.NEGATIVE_INFINITY) >= FRESH_MS;
  }

  /** The server's name was looked up. */
  found(server: Server, addresses: readonly string[], foundAtMs: number, random: () => number): void {
    const last = this.#before?.server === server ? this.#before.address : undefined;
    const tried = this.#visits.get(server)?.tried ?? new Set();
    this.#visits.set(server, { addresses: inTurn(addresses, last, random), foundAtMs, tried });
  }

  hasFound(server: Server): boolean {
    return this.#visits.has(server);
  }

  /** An address that wasn't tried in this round; `undefined` if there is none. It counts as tried now. */
  takeAddress(server: Server): string | undefined {
    const address = this.#untried(server);
    if (address !== undefined) this.#visits.get(server)?.tried.add(address);
    return address;
  }

  #untried(server: Server): string | undefined {
    const visit = this.#visits.get(server);
    return visit?.addresses.find((each) => !visit.tried.has(each));
  }
}

/**
 * The addresses of one server in the order to try them. They are shuffled. Addresses of the family that the system lists first
 * come first, since a machine may have no route for the other family. The address that was tried last comes last.
 */
export function inTurn(found: readonly string[], last: string | undefined, random: () => number): string[] {
  const rank = (address: string) => (address === last ? 2 : Number(isIP(address) !== isIP(found[0] ?? '')));
  return shuffled([...new Set(found)], random).sort((a, b) => rank(a) - rank(b));
}

import { sleep, type Timer } from '../clock.js';
import { ConnectTimeoutError, describe } from '../errors.js';
import type { Logger } from '../logger.js';
import type { Server } from './connect-string.js';
import { Connection } from './connection.js';
import type { Environment } from './environment.js';
import type { Handshake, HandshakeReply } from './protocol.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
// A connection that lasted this long shows that its server serves: the next loss starts without a pause again.
const SETTLED_AFTER_MS = 2000;

/** How long to wait after the `round`th round (from 1) in which no server took the session. */
export function pauseMs(round: number, random: number): number {
  const most = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (round - 1));
  return most * (0.5 + random / 2);
}

/**
 * How long a server may take to answer the handshake, in the `round`th round (from 0). At first so short that every
 * server has its turn well before the session expires, also when some accept and stay silent, as one that is starting
 * does; longer in each round, for servers that are slow.
 */
export function handshakeTimeoutMs(round: number, servers: number, sessionTimeoutMs: number): number {
  const longest = Math.max(200, sessionTimeoutMs / 3);
  const first = Math.max(200, Math.min(1000, longest / servers));
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
 * Finds a server that takes the session: one after the other, the next one at once, and after each round in vain a
 * pause that grows, with jitter. A server that accepts and then drops the connection counts as in vain.
 */
export class Dialer {
  readonly #servers: readonly Server[];
  readonly #environment: Environment;
  readonly #logger: Logger;
  #next = 0;
  #tries = 0;
  #openedAt = Number.NEGATIVE_INFINITY;

  constructor(servers: readonly Server[], environment: Environment, logger: Logger) {
    this.#servers = shuffled(servers, environment.random);
    this.#environment = environment;
    this.#logger = logger;
  }

  /**
   * Tries servers until one answers the handshake, or `worthwhile` says no between two tries.
   *
   * @throws the signal's reason when it aborts, a ConnectTimeoutError when it isn't worthwhile any more
   */
  async dial(
    handshake: Handshake,
    onEvent: (path: string) => void,
    worthwhile: () => boolean,
    signal: AbortSignal,
  ): Promise<{ connection: Connection; reply: HandshakeReply }> {
    if (this.#environment.clock.now() - this.#openedAt > SETTLED_AFTER_MS) this.#tries = 0;
    while (worthwhile()) {
      signal.throwIfAborted();
      if (this.#tries > 0 && this.#tries % this.#servers.length === 0) await this.#pause(signal);
      this.#tries++;
      const server = this.#servers[this.#next++ % this.#servers.length] as Server;
      try {
        const opened = await this.#open(server, handshake, onEvent, signal);
        this.#openedAt = this.#environment.clock.now();
        return opened;
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        this.#logger.debug({ server, cause: describe(error) }, 'no session from this server');
      }
    }
    throw new ConnectTimeoutError('no server took the session');
  }

  #pause(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#environment;
    return sleep(clock, pauseMs(this.#tries / this.#servers.length, random()), signal);
  }

  async #open(server: Server, handshake: Handshake, onEvent: (path: string) => void, signal: AbortSignal) {
    const round = Math.floor((this.#tries - 1) / this.#servers.length);
    const timeoutMs = handshakeTimeoutMs(round, this.#servers.length, handshake.timeoutMs);
    const giveUp = new AbortController();
    const timer: Timer = this.#environment.clock.after(timeoutMs, () => {
      giveUp.abort(
        new ConnectTimeoutError(
          `no answer from ${server.host}:${server.port} in ${Math.round(timeoutMs)} ms`,
        ),
      );
    });
    const onAbort = () => giveUp.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Connection.open(server, handshake, this.#environment, onEvent, giveUp.signal);
    } finally {
      timer.clear();
      signal.removeEventListener('abort', onAbort);
    }
  }
}

import type { Environment } from '../../platform/injected-environment.js';
import type { Endpoint, TlsOptions, Transport } from '../connection/tcp-and-tls.js';
import { ShownTurns } from './stall-watch.js';
import { startThread, ThreadHost } from './thread-host.js';
import { tlsForThread } from './tls-for-thread.js';

/** One for each environment, so one for the process. */
const hosts = new WeakMap<Environment, ThreadHost>();

/** How long the thread may take to show that it lives, in session timeouts. */
const ANSWERS_WITHIN = 1 / 3;

export interface SessionThreadOptions {
  readonly environment: Environment;
  readonly maxStallMs: number;
  readonly sessionTimeoutMs: number;
}

/** The use that one session makes of the thread: it opens the session's connections there, and shows it that this thread's loop turns. */
export class SessionThread {
  readonly #options: SessionThreadOptions;
  readonly #turns: ShownTurns;
  readonly #host: ThreadHost;

  constructor(options: SessionThreadOptions) {
    this.#options = options;
    this.#turns = new ShownTurns(options.environment.clock, options.maxStallMs);
    this.#host = hostOf(options.environment);
    this.#host.join(this);
  }

  /** @param tls - options that can be cloned, but for the context; `undefined` for plain TCP */
  open(endpoint: Endpoint, tls: TlsOptions | undefined): Transport {
    const { maxStallMs, sessionTimeoutMs } = this.#options;
    const opening = { endpoint, tls: tls && tlsForThread(tls), maxStallMs, turns: this.#turns.memory };
    const socket = this.#host.open(opening, sessionTimeoutMs * ANSWERS_WITHIN);
    return { socket, ready: 'connect' };
  }

  /** The session has ended. It opens no more connections, but for one that closes it. */
  end(): void {
    this.#turns.stop();
    this.#host.leave(this);
  }
}

function hostOf(environment: Environment): ThreadHost {
  const known = hosts.get(environment);
  if (known !== undefined) return known;
  const host = new ThreadHost(environment.clock, () => environment.startThread?.() ?? startThread());
  hosts.set(environment, host);
  return host;
}

import { isIPv6 } from 'node:net';
import { NoServerError } from '../../errors.js';
import type { Server } from '../../platform/environment.js';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/** How long after the `count`th report (from 1) of one outage the next one is due. */
export function reportPauseMs(count: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (count - 1));
}

/** No server serves: since when, how many have had their turn, and what has been said of it. */
interface Lasting {
  readonly name: 'lasting';
  readonly sinceMs: number;
  readonly turns: number;
  readonly reports: number;
  readonly dueAtMs: number;
  readonly last: { readonly address: string; readonly cause: unknown } | undefined;
}

/**
 * The time in which no server serves a session, or one session after the other that nobody can open. Says when that is
 * worth a report: after the first whole round of servers, and not before a lease that was held is over; and then after pauses
 * that double, from a second to a minute: some five hundred reports of an outage that lasts all night, and not thirty
 * thousand. All times are by the session's clock.
 */
export class Outage {
  #state: Lasting | { readonly name: 'none' } = { name: 'none' };

  /** The server that served is gone. Nothing is lost before the lease is over, and by then another one mostly serves. */
  begin(nowMs: number, leaseMs: number): void {
    this.#state = lasting(nowMs, nowMs + leaseMs);
  }

  /** A server has its turn. */
  tried(nowMs: number): void {
    const before = this.#state.name === 'lasting' ? this.#state : lasting(nowMs, nowMs);
    this.#state = { ...before, turns: before.turns + 1 };
  }

  /** It had it in vain. */
  failed({ host, port }: Server, cause: unknown): void {
    const address = isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
    if (this.#state.name === 'lasting') this.#state = { ...this.#state, last: { address, cause } };
  }

  /** What to say now of so many servers, if anything: which counts as said. */
  report(nowMs: number, servers: number): NoServerError | undefined {
    const state = this.#state;
    if (state.name === 'none' || state.last === undefined) return undefined;
    if (state.turns < servers || nowMs < state.dueAtMs) return undefined;
    const reports = state.reports + 1;
    this.#state = { ...state, reports, dueAtMs: nowMs + reportPauseMs(reports) };
    return new NoServerError(state.last.address, nowMs - state.sinceMs, state.last.cause);
  }

  /** A server serves. */
  end(): void {
    this.#state = { name: 'none' };
  }
}

function lasting(sinceMs: number, dueAtMs: number): Lasting {
  return { name: 'lasting', sinceMs, turns: 0, reports: 0, dueAtMs, last: undefined };
}

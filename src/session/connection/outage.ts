import { isIPv6 } from 'node:net';
import { NoServerError } from '../../errors.js';
import type { Server } from '../../platform/environment.js';
import { exponentialPauseMs } from '../../platform/retry/backoff.js';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/** How long after the `count`th report (from 1) of one outage the next one is due. */
export function reportPauseMs(count: number): number {
  return exponentialPauseMs(count, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
}

/** No server serves: since when, how many were tried, and how often that was reported. */
interface Lasting {
  readonly name: 'lasting';
  readonly sinceMs: number;
  readonly tries: number;
  readonly reports: number;
  readonly dueAtMs: number;
  readonly last: { readonly address: string; readonly cause: unknown } | undefined;
}

/**
 * The time in which no server serves a session, or any that an owner tries to open one after the other. Says when a report is
 * due: after the first whole round of servers, and not before the end of a lease that was held; then after pauses that double,
 * from a second to a minute: some five hundred reports in a night, not thirty thousand. All times are by the session's clock.
 */
export class Outage {
  #state: Lasting | { readonly name: 'none' } = { name: 'none' };

  /** The connection is lost. Nothing else is lost before the lease ends, and by then another server mostly serves. */
  begin(nowMs: number, leaseMs: number): void {
    this.#state = lasting(nowMs, nowMs + leaseMs);
  }

  tried(nowMs: number): void {
    const before = this.#state.name === 'lasting' ? this.#state : lasting(nowMs, nowMs);
    this.#state = { ...before, tries: before.tries + 1 };
  }

  failed({ host, port }: Server, cause: unknown): void {
    const address = isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
    if (this.#state.name === 'lasting') this.#state = { ...this.#state, last: { address, cause } };
  }

  /** The report that is due now, if any, given the number of servers. It counts as made. */
  report(nowMs: number, servers: number): NoServerError | undefined {
    const state = this.#state;
    if (state.name === 'none' || state.last === undefined) return undefined;
    if (state.tries < servers || nowMs < state.dueAtMs) return undefined;
    const reports = state.reports + 1;
    this.#state = { ...state, reports, dueAtMs: nowMs + reportPauseMs(reports) };
    return new NoServerError(state.last.address, nowMs - state.sinceMs, state.last.cause);
  }

  end(): void {
    this.#state = { name: 'none' };
  }
}

function lasting(sinceMs: number, dueAtMs: number): Lasting {
  return { name: 'lasting', sinceMs, tries: 0, reports: 0, dueAtMs, last: undefined };
}

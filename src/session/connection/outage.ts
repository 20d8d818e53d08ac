import { isIPv6 } from 'node:net';
import { describe, NoServerError } from '../../errors.js';
import type { Server } from '../../platform/injected-environment.js';
import { exponentialPauseMs } from '../../platform/retry/backoff.js';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;

/** How long after the `count`th report (from 1) of one outage the next report is due, in milliseconds. */
export function reportPauseMs(count: number): number {
  return exponentialPauseMs(count, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
}

/** A function or a mechanism of the application has failed, and no server. */
export class OwnFailure extends Error {
  constructor(cause: unknown) {
    super(describe(cause), { cause });
  }
}

/** No server serves: since when, how many tries there were, and how many reports. */
interface Lasting {
  readonly name: 'lasting';
  readonly sinceMs: number;
  readonly tries: number;
  readonly reports: number;
  readonly dueAtMs: number;
  readonly last: { readonly address: string; readonly failure: unknown } | undefined;
}

/**
 * A time in which no server serves a session, or any of the sessions that an owner tries to open one after the other. It decides
 * when a report is due. The first one is due after a whole round of servers, and not before the end of a lease that was held.
 * Further ones are due after pauses that double from a second to a minute. So a night brings some five hundred reports, and not
 * thirty thousand. All times are by the session's clock.
 */
export class Outage {
  #state: Lasting | { readonly name: 'none' } = { name: 'none' };
  #hasServed = false;

  /** Whether a server has ever served a session of this owner. Before that, a wrong option or credential is reported as the caller's mistake. */
  get hasServed(): boolean {
    return this.#hasServed;
  }

  /** The connection is lost. No term or lock is lost before the lease ends, and by then another server mostly serves. */
  begin(nowMs: number, leaseMs: number): void {
    this.#state = lasting(nowMs, nowMs + leaseMs);
  }

  /** A server is searched. */
  searched(nowMs: number): void {
    if (this.#state.name === 'none') this.#state = lasting(nowMs, nowMs);
  }

  /** @param servers - how many servers were tried in vain */
  tried(servers = 1): void {
    if (this.#state.name === 'lasting') this.#state = { ...this.#state, tries: this.#state.tries + servers };
  }

  /**
   * @param at - the server, or the name of the function that has failed in place of one
   * @param failure - the error, which is the cause of an OwnFailure
   */
  failed(at: Server | string, failure: unknown): void {
    const address = typeof at === 'string' ? at : addressOf(at);
    if (this.#state.name === 'lasting') this.#state = { ...this.#state, last: { address, failure } };
  }

  /** The report that is due now, if any. It then counts as made. @param servers - the number of servers, which makes a round */
  report(nowMs: number, servers: number): NoServerError | undefined {
    const state = this.#state;
    if (state.name === 'none' || state.last === undefined) return undefined;
    if (state.tries < servers || nowMs < state.dueAtMs) return undefined;
    const reports = state.reports + 1;
    this.#state = { ...state, reports, dueAtMs: nowMs + reportPauseMs(reports) };
    const { address, failure } = state.last;
    const isOwn = failure instanceof OwnFailure;
    return new NoServerError(address, nowMs - state.sinceMs, isOwn ? failure.cause : failure, isOwn);
  }

  /** A server has answered. */
  end(): void {
    this.#state = { name: 'none' };
  }

  /** A server serves a session. */
  served(): void {
    this.#hasServed = true;
    this.end();
  }
}

function addressOf({ host, port }: Server): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

function lasting(sinceMs: number, dueAtMs: number): Lasting {
  return { name: 'lasting', sinceMs, tries: 0, reports: 0, dueAtMs, last: undefined };
}

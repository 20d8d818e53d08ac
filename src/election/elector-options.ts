import { hostname } from 'node:os';
import { InvalidOptionError } from '../errors.js';
import {
  asGiven,
  type ChecksOf,
  checkBoolean,
  checkFunction,
  checkId,
  checkMetadata,
  checkMs,
  checkOneOf,
  checkWhole,
  readOptions,
} from '../platform/checks.js';
import { type Logger, resolveLogger } from '../platform/logging/logger.js';
import type { Session } from '../session/session.js';
import { HIGHEST_PRIORITY } from './candidates/order-by-priority.js';
import type { Term } from './term/term.js';

/** How a candidate campaigns and leads. All times are in milliseconds. `T` is what `prepare` returns. */
export interface CandidacyOptions<T = undefined> {
  /**
   * Data that the candidate advertises, up to 16 KiB: an address, for example. Every client that may read the election
   * sees it. @default none
   */
  readonly data?: string | Uint8Array;
  /**
   * The leader's work, called when a term begins. When the promise that it returns has settled, the term is released
   * and the elector joins the queue again. End the work soon after `term.signal` aborts: the term isn't released
   * before. The event `error` reports what it throws. After the end of the term it reports neither the signal's reason
   * nor an error whose name is `AbortError`. @default the term lasts until the elector resigns, stops, or loses it
   */
  readonly lead?: (term: Term, warm: T) => unknown;
  /**
   * Loads what `lead` needs, while this candidate is the next in line; a candidate with a `priority` begins at any position. `lead` gets
   * what it returns. Write `prepare` before `lead`, so that TypeScript infers the type. It needs `lead`.
   *
   * A candidate that is elected before that waits for it in its term, before `lead` is called. If it is elected at once, Conclave calls
   * `prepare` in the term. If `prepare` throws while the candidate waits, `error` has a `PrepareError`, and Conclave calls it again
   * after 1, 2, 4 … 60 s. In a term Conclave calls it once more. If that throws, too, or `lead` has
   * waited for 60 s, the term ends as if `lead` had thrown.
   *
   * `place.signal` aborts when the candidate loses this place in the queue without leading, or when the work of its term has settled.
   * Close there what `prepare` has opened. If it has aborted when you have loaded everything, close that as well. Errors that
   * `prepare` throws after the abort aren't reported. The candidate's next place has its own call.
   *
   * Guaranteed: `prepare` changes nothing in who leads, and when, unless it fails or hangs in the term. Nothing but `lead` waits for it, so a call that ignores `place.signal`
   * may still run when the next one begins. Not guaranteed: that it has run before the term, and that what it has loaded is new. Load
   * the changes since then in `lead`. It must not act as a leader.
   */
  readonly prepare?: (place: { readonly signal: AbortSignal }) => T | PromiseLike<T>;
  /**
   * How long, in milliseconds, this leader goes on leading for a successor that prepares and isn't prepared, when its term is to end: by
   * `resign()`, `handOver()`, `stop()`, `shutdownOn`, or a revocation, for which it waits for half of the rest of the grace at most.
   * `term.signal` aborts after that. If the successor leaves meanwhile, the next one counts. When the time is over, Conclave logs a
   * warning, and the term ends. The time counts against the `timeoutMs` of `stop()` and the `deadlineMs` of `shutdownOn`: give less.
   *
   * There is no wait without a successor, for a successor without `prepare`, or when `lead` has settled. Not guaranteed: that the
   * successor is prepared. A candidate with a higher priority may join meanwhile.
   * @default 0: these calls end the term at once
   */
  readonly waitForPreparedMs?: number;
  /**
   * The least time, in milliseconds, that this candidate waits before it claims after a leader has ended uncleanly. The
   * candidate always waits for that leader's lease, 3 % more, and 50 ms; a shorter time has no effect. The 3
   * % and 50 ms are the whole margin for clocks. Give more where you can't trust clocks: the clock of a
   * virtual machine may stop while its host migrates it live. Give more, too, for work that doesn't ask `term.isHeld()` before each act:
   * it acts once more when a leader has hung for longer than this time and goes on. Give all candidates the same time.
   * @default 1.03 leases and 50 ms
   */
  readonly takeoverDelayMs?: number;
  /**
   * What the elector does if work outlasts its lease: `report` emits an `error` event, `exit` ends the process with
   * code 70. @default 'report'
   */
  readonly onOverrun?: 'report' | 'exit';
  /**
   * Whether a separate thread ends the process by SIGKILL when the main thread has been blocked past the end of a
   * term's lease. Nothing else can stop such a process, and its next action would be that of a replaced leader. Use the
   * watchdog for work that may block and can't be fenced. It also kills a process that was paused for that long.
   *
   * The thread runs none of the application's `--import` and `--require`. Before it ends the process, it says so on standard error. A
   * standard error that accepts no output can't prevent that. A file or a terminal whose writes hang delays it by 100 ms.
   *
   * If the thread can't be started, or ends, the elector emits a `WatchdogFailedError` as `error`. The
   * present term then goes on without a watchdog, and the elector's later terms have none either.
   * @default false
   */
  readonly watchdog?: boolean;
  /**
   * From 0 to 255. At each change of the leader the candidate with the highest priority leads next, wherever it is in the queue. Among
   * equals the queue decides. No leader has to step down for a higher priority. A candidate's priority counts once its `start()` has
   * resolved. A candidate that joins while a term is being given back may have to wait for the change after that. The same holds for
   * one that joined in a term whose leader ended uncleanly within ten leases: it may be that leader, started again. @default 0
   */
  readonly priority?: number;
  /**
   * Decides whether to step down when `revokeLeader` asks. To refuse, return `false` or a promise of `false`. You may use the request's
   * grace to finish work. If the function throws, or hasn't answered by the end of the grace, the term ends.
   * @default the leader steps down at once
   */
  readonly onRevoke?: (revocation: Revocation) => boolean | undefined | Promise<boolean | undefined>;
}

/** Options of a {@link LeaderElector}. All times are in milliseconds. `T` is what `prepare` returns. */
export interface LeaderElectorOptions<T = undefined> extends CandidacyOptions<T> {
  /** The candidate's name, up to 256 characters. @default the host name, the process id and a random part */
  readonly id?: string;
  /** Any logger with pino's methods. @default the session's */
  readonly logger?: Logger;
}

/** A request to step down. */
export interface Revocation {
  /** The name that the requester gave itself, in the option `by`. */
  readonly by: string;
  /** How long the leader's work may take to settle, in milliseconds from when the leader read the request. */
  readonly graceMs: number;
  /**
   * The candidate that is to lead next, if the requester names one: its id, or the name of its node. The leader has
   * seen that this candidate is in the queue.
   */
  readonly to?: string;
  /** The term that is to end. */
  readonly term: Term;
}

/** @internal The checked options, with their defaults. */
export type ResolvedElectorOptions = ReturnType<typeof resolveElectorOptions>;

type Prepare = NonNullable<CandidacyOptions<unknown>['prepare']>;

/** The checks of the options that an elector and a supervisor have in common. */
export const CANDIDACY_CHECKS = {
  data: checkMetadata,
  lead: checkFunction<NonNullable<CandidacyOptions<unknown>['lead']>>,
  prepare: checkPrepare,
  waitForPreparedMs: (name, value) => checkMs(name, value) ?? 0,
  takeoverDelayMs: checkMs,
  onOverrun: (name, value) => checkOneOf<'report' | 'exit'>(name, value, ['report', 'exit'], 'report'),
  watchdog: (name, value) => checkBoolean(name, value, false),
  priority: (name, value) => (value === undefined ? 0 : checkWhole(name, value, 0, HIGHEST_PRIORITY)),
  onRevoke: checkFunction<NonNullable<CandidacyOptions['onRevoke']>>,
} satisfies ChecksOf<CandidacyOptions<unknown>>;

const CHECKS = {
  id: checkId,
  ...CANDIDACY_CHECKS,
  logger: asGiven<unknown>,
} satisfies ChecksOf<LeaderElectorOptions<unknown>>;

/** @throws InvalidOptionError naming the option, the value and what would be right */
export function resolveElectorOptions(given: unknown, session: Session) {
  const { id, logger, ...candidacy } = readOptions('elector', given, CHECKS);
  return {
    ...candidacy,
    id: id ?? defaultId(session.environment.uuid()),
    logger: logger === undefined ? session.logger : resolveLogger(logger),
  };
}

function checkPrepare(name: string, value: Prepare | undefined, { lead }: CandidacyOptions<unknown>) {
  if (value !== undefined && lead === undefined)
    throw new InvalidOptionError(name, value, 'given with `lead`, which gets what it returns');
  return checkFunction(name, value);
}

/** A readable name that no other candidate on this host has or had. */
export function defaultId(uuid: string): string {
  return `${hostname()}-${process.pid}-${uuid.slice(0, 8)}`;
}

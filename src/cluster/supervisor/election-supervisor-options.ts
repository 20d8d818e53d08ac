import { CANDIDACY_CHECKS, type CandidacyOptions } from '../../election/elector-options.js';
import { InvalidOptionError } from '../../errors.js';
import { type ChecksOf, checkEach, checkOptions, definedOnly } from '../../platform/checks.js';
import type { Logger } from '../../platform/logging/logger.js';
import type { RetryOptions } from '../../platform/retry/backoff.js';
import type { SessionOptions } from '../../session/session-options.js';
import type { CleanupHook, TermLoss } from './cleanup-hook.js';
import { LOOP_CHECKS, resolveLoopOptions, WITHIN_LOOP } from './supervision-loop-options.js';

/** How an {@link ElectionSupervisor} campaigns, leads and recovers. All times are in milliseconds. `T` is what `prepare` returns. */
export interface ElectionSupervisorOptions<T = undefined> extends CandidacyOptions<T> {
  /**
   * The servers: `host[:port],host[:port]…[/chroot]`. Or a function that gives them, which is asked before each round of servers: the
   * list may change, and the chroot may not.
   */
  readonly connect: string | (() => string | Promise<string>);
  /** The election's path. */
  readonly path: string;
  /** The candidate's name. @default host name, process id and a random part */
  readonly id?: string;
  /** How each session is opened. */
  readonly session?: Omit<SessionOptions, 'signal'>;
  /**
   * The clean-up hook. It is called after every lost term and every expired session, when the leader's work has settled, the session is
   * closed, and before anything else. The supervisor joins the election again only when the hook has succeeded. A hook that throws is
   * called again, with back-off. After the last attempt the supervisor stops with `CleanupFailedError`. The hook may return `'stop'`.
   *
   * After a loss the hook is called at least once, even if you stop the supervisor meanwhile. After a stop it has
   * `cleanupTimeoutMs` in all, from the stop or from the call, whichever is later. The supervisor calls it once more at most. If
   * that fails, the clean-up is outstanding, and you get a `CleanupFailedError`.
   */
  readonly cleanup?: CleanupHook;
  /** How long one attempt of the hook may take, in milliseconds. @default 30000 */
  readonly cleanupTimeoutMs?: number;
  /**
   * Whether to register the sessions with a `SessionGuardian` in the parent process, if there is one. The guardian cleans them
   * up when this process has ended. The registration goes over IPC only, and includes the session's password. @default true
   */
  readonly guardian?: boolean;
  /** Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL, else warnings and errors on stderr */
  readonly logger?: Logger;
  /** Back-off of restarts (forever by default) and of the hook (5 attempts by default). */
  readonly retry?: RetryOptions;
}

/** @internal Options that were checked, with their defaults. */
export type ResolvedSupervisorOptions = ReturnType<typeof resolveSupervisorOptions>;

const CHECKS = { ...LOOP_CHECKS, ...CANDIDACY_CHECKS } satisfies ChecksOf<ElectionSupervisorOptions<unknown>>;

/** Checks all options at once: a wrong one must not turn up only at the first loss. */
export function resolveSupervisorOptions(given: unknown) {
  if (given === undefined)
    throw new InvalidOptionError('supervisor', given, 'an object with at least connect and path');
  const options = checkOptions<Record<string, unknown>>(
    'supervisor',
    given,
    Object.keys(CHECKS),
    WITHIN_LOOP,
  );
  return {
    ...resolveLoopOptions<TermLoss>(checkEach(options, LOOP_CHECKS), 'election'),
    candidacy: definedOnly<CandidacyOptions<unknown>>(checkEach(options, CANDIDACY_CHECKS)),
  };
}

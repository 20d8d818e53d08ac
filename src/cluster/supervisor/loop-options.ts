import { checkFunction, checkOptions, checkPositiveMs, type OptionsWithin } from '../../platform/checks.js';
import type { Environment } from '../../platform/injected-environment.js';
import { type Logger, resolveLogger, withFields } from '../../platform/logging/logger.js';
import {
  RETRY_OPTIONS,
  type RetryOptions,
  type RetryPolicy,
  resolveRetryOptions,
} from '../../platform/retry/backoff.js';
import { type ConnectSource, connectSource } from '../../session/connection/server-list.js';
import {
  resolveSessionOptions,
  SESSION_OPTIONS,
  type SessionOptions,
  WITHIN_SESSION,
} from '../../session/session-options.js';
import type { CleanupAttempt } from './cleanup-hook.js';

/** The options that all supervisors have in common. `L` is the loss that the clean-up hook gets. All times are in milliseconds. */
export interface GivenLoopOptions<L> {
  readonly connect: string | (() => string | Promise<string>);
  readonly session?: Omit<SessionOptions, 'signal'>;
  readonly cleanup?: (known: L & CleanupAttempt) => unknown;
  readonly cleanupTimeoutMs?: number;
  readonly retry?: RetryOptions;
  readonly logger?: Logger;
}

/** Options that callers may give to a supervisor although they belong into one of its options. */
export const WITHIN_LOOP: OptionsWithin = { ...WITHIN_SESSION, retry: RETRY_OPTIONS };

/** How a supervisor goes on: options that were checked, with their defaults. */
export interface LoopOptions<L> {
  readonly connect: ConnectSource;
  readonly environment: Environment;
  readonly sessionOptions: SessionOptions;
  readonly cleanup: ((known: L & CleanupAttempt) => unknown) | undefined;
  readonly cleanupTimeoutMs: number;
  readonly cleanupRetry: RetryPolicy;
  readonly retry: RetryPolicy;
  readonly logger: Logger;
}

/** Options whose logger, also that of the sessions, has these fields in each line. */
export function withLoggedFields<L>(options: LoopOptions<L>, fields: object): LoopOptions<L> {
  const logger = withFields(options.logger, fields);
  return { ...options, logger, sessionOptions: { ...options.sessionOptions, logger } };
}

/** How often a supervisor tries the application's code again, unless `retry` says otherwise. */
export const CODE_RETRIES = 4;

/** @throws InvalidOptionError if an option is wrong; it names the option, the value and a right one */
export function resolveLoopOptions<L>(given: GivenLoopOptions<L>): LoopOptions<L> {
  const connect = connectSource(given.connect);
  const { logger: sessionLogger, ...session } = checkOptions<SessionOptions>(
    'session',
    given.session,
    SESSION_OPTIONS.filter((name) => name !== 'signal'), // `stop()` ends the supervisor.
  );
  if (sessionLogger !== undefined) resolveLogger(sessionLogger, 'session.logger');
  const logger = resolveLogger(given.logger === undefined ? sessionLogger : given.logger);
  const { environment } = resolveSessionOptions(session, logger);
  return {
    connect,
    environment,
    sessionOptions: { ...session, logger },
    cleanup: checkFunction('cleanup', given.cleanup),
    cleanupTimeoutMs: checkPositiveMs('cleanupTimeoutMs', given.cleanupTimeoutMs, 30_000),
    cleanupRetry: resolveRetryOptions(given.retry, CODE_RETRIES),
    retry: resolveRetryOptions(given.retry, Number.POSITIVE_INFINITY),
    logger,
  };
}

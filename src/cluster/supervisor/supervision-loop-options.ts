import { defaultId } from '../../election/elector-options.js';
import {
  asGiven,
  type Checked,
  type Checks,
  checkBoolean,
  checkFunction,
  checkId,
  checkOptions,
  checkPath,
  checkPositiveMs,
  type OptionsWithin,
} from '../../platform/checks.js';
import { resolveLogger, withFields } from '../../platform/logging/logger.js';
import { RETRY_OPTIONS, resolveRetryOptions } from '../../platform/retry/backoff.js';
import { connectSource } from '../../session/connection/server-list.js';
import {
  OWN_SESSION_OPTIONS,
  resolveSessionOptions,
  type SessionOptions,
  WITHIN_SESSION,
} from '../../session/session-options.js';
import type { CleanupAttempt } from './cleanup-hook.js';

/** The checks of the options that all supervisors have in common. {@link resolveLoopOptions} checks what is as given here. */
export const LOOP_CHECKS = {
  connect: (_, value) => connectSource(value),
  path: checkPath,
  id: checkId,
  session: asGiven<unknown>,
  cleanup: checkFunction<(known: never) => unknown>,
  cleanupTimeoutMs: (name, value) => checkPositiveMs(name, value, 30_000),
  guardian: (name, value) => checkBoolean(name, value, true),
  retry: asGiven<unknown>,
  logger: asGiven<unknown>,
} satisfies Checks;

/** Options that callers may give to a supervisor although they belong into one of its options. */
export const WITHIN_LOOP: OptionsWithin = { ...WITHIN_SESSION, retry: RETRY_OPTIONS };

/** How a supervisor goes on: options that were checked, with their defaults. */
export type LoopOptions<L> = ReturnType<typeof resolveLoopOptions<L>>;

/** How often a supervisor tries the application's code again, unless `retry` says otherwise. */
export const CODE_RETRIES = 4;

/**
 * @param what - the field with the path in each line of the log, also in those of the sessions
 * @throws InvalidOptionError if an option is wrong; it names the option, the value and a right one
 */
export function resolveLoopOptions<L>(
  { session: given, id, retry, ...checked }: Checked<typeof LOOP_CHECKS>,
  what: 'election' | 'group',
) {
  const { logger: sessionLogger, ...session } = checkOptions<SessionOptions>(
    'session',
    given,
    OWN_SESSION_OPTIONS,
  );
  if (sessionLogger !== undefined) resolveLogger(sessionLogger, 'session.logger');
  const plain = resolveLogger(checked.logger === undefined ? sessionLogger : checked.logger);
  const { environment } = resolveSessionOptions(session, plain);
  const name = id ?? defaultId(environment.uuid());
  const logger = withFields(plain, { [what]: checked.path, id: name });
  return {
    ...checked,
    cleanup: checked.cleanup as ((known: L & CleanupAttempt) => unknown) | undefined,
    id: name,
    environment,
    sessionOptions: { ...session, logger } satisfies SessionOptions,
    cleanupRetry: resolveRetryOptions(retry, CODE_RETRIES),
    retry: resolveRetryOptions(retry, Number.POSITIVE_INFINITY),
    logger,
  };
}

import { checkOptions } from '../../platform/checks.js';
import type { Logger } from '../../platform/logging/logger.js';
import { type ObserverSource, resolveSource } from '../../session/observation/observer-sessions.js';
import { type SessionOptions, WITHIN_SESSION } from '../../session/session-options.js';

/** Options of a `ShardObserver`. */
export interface ShardObserverOptions {
  /** How it opens its sessions: with a connect string only. Without `signal`, because `stop()` ends them. */
  readonly session?: Omit<SessionOptions, 'signal'>;
  /**
   * Any logger with pino's methods. @default the session's, else pino at the level of CONCLAVE_LOG_LEVEL, else warnings and
   * errors on stderr
   */
  readonly logger?: Logger;
}

/** @param onError - receives the errors of sessions that the observer has opened. @throws InvalidOptionError @internal */
export function resolveShardObserverOptions(
  from: unknown,
  given: unknown,
  onError: (error: unknown) => void,
): ObserverSource {
  const options = checkOptions<ShardObserverOptions>(
    'observer',
    given,
    ['session', 'logger'],
    WITHIN_SESSION,
  );
  return resolveSource(from, options, { onError, supervisor: 'a supervisor' });
}

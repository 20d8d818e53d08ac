import { checkOptions, checkSeat } from '../../platform/checks.js';
import type { Logger } from '../../platform/logging/logger.js';
import { type ObserverSource, resolveSource } from '../../session/observation/observer-sessions.js';
import { type SessionOptions, WITHIN_SESSION } from '../../session/session-options.js';

/** Options of an `ElectionObserver`. */
export interface ElectionObserverOptions {
  /** The seat whose leader to watch, from 0, in an election with several seats. @default the election has one seat */
  readonly seat?: number;
  /** How it opens its sessions: with a connect string only. Without `signal`, because `stop()` ends them. */
  readonly session?: Omit<SessionOptions, 'signal'>;
  /**
   * Any logger with pino's methods. @default the session's, else pino at the level of CONCLAVE_LOG_LEVEL, else warnings and
   * errors on stderr
   */
  readonly logger?: Logger;
}

/** @internal Options that were checked. */
interface ResolvedObserverOptions extends ObserverSource {
  readonly seat: number | undefined;
}

const KNOWN = ['seat', 'session', 'logger'] as const;

/** @param onError - receives the errors of sessions that the observer has opened. @throws InvalidOptionError @internal */
export function resolveObserverOptions(
  from: unknown,
  given: unknown,
  onError: (error: unknown) => void,
): ResolvedObserverOptions {
  const options = checkOptions<ElectionObserverOptions>('observer', given, KNOWN, WITHIN_SESSION);
  const seat = checkSeat('seat', options.seat);
  return { seat, ...resolveSource(from, options, { onError, supervisor: 'an ElectionSupervisor' }) };
}

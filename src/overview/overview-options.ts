import { checkOptions, checkPath } from '../platform/checks.js';
import { systemEnvironment } from '../platform/environment.js';
import type { Logger } from '../platform/logging/logger.js';
import type { Clock } from '../platform/time/clock.js';
import { type ObserverSource, resolveSource } from '../session/observation/observer-sessions.js';
import { Session } from '../session/session.js';
import { type SessionOptions, WITHIN_SESSION } from '../session/session-options.js';
import { NO_PAST, type Past } from './model/overview-model.js';

/** Options of an `Overview`. */
export interface OverviewOptions {
  /** The overview shows this node and all nodes below it. @default '/' */
  readonly root?: string;
  /** How the overview opens its sessions, with a connect string only. There is no `signal`, because `stop()` ends the sessions. */
  readonly session?: Omit<SessionOptions, 'signal'>;
  /** Any logger with pino's methods. @default the session's, else pino at the level of CONCLAVE_LOG_LEVEL */
  readonly logger?: Logger;
  /** The history that is known from before. @default no history */
  readonly past?: Past;
}

interface ResolvedOverviewOptions extends ObserverSource {
  readonly root: string;
  readonly past: Past;
  readonly clock: Clock;
}

const KNOWN = ['root', 'session', 'logger', 'past'] as const;

/** @param onError - receives the errors of the sessions that the overview has opened. @throws InvalidOptionError */
export function resolveOverviewOptions(
  from: unknown,
  given: unknown,
  onError: (error: unknown) => void,
): ResolvedOverviewOptions {
  const options = checkOptions<OverviewOptions>('overview', given, KNOWN, WITHIN_SESSION);
  const { root = '/', past = NO_PAST } = options;
  if (root !== '/') checkPath('root', root);
  const source = resolveSource(from, options, { onError, supervisor: 'a supervisor' });
  const environment = from instanceof Session ? from.environment : options.session?.environment;
  return { root, past, clock: (environment ?? systemEnvironment).clock, ...source };
}

import { isOfAnotherCopy } from '../../classes/duplicate-install.js';
import { InvalidOptionError, NOT_SHOWN } from '../../errors.js';
import { abortable } from '../../platform/async/promises.js';
import { checkInstance, checkOptions, checkSeat } from '../../platform/checks.js';
import { type Logger, resolveLogger } from '../../platform/logging/logger.js';
import { parseConnectString } from '../../session/connection/connect-string.js';
import { Session } from '../../session/session.js';
import { resolveSessionOptions, type SessionOptions, WITHIN_SESSION } from '../../session/session-options.js';
import { OwnSessions, type SessionSource } from '../../session/successive-sessions.js';

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

/** @internal From where an observer of any kind gets its sessions. */
export interface ObserverSource {
  readonly source: SessionSource;
  readonly logger: Logger;
  /** Closes the sessions that the observer has opened. Never rejects. */
  close(): Promise<void>;
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

/**
 * @param how.onError - receives the errors of sessions that the observer has opened
 * @param how.supervisor - what else may be given, in words
 * @throws InvalidOptionError
 * @internal
 */
export function resolveSource(
  from: unknown,
  options: Pick<ElectionObserverOptions, 'session' | 'logger'>,
  how: { readonly onError: (error: unknown) => void; readonly supervisor: string },
): ObserverSource {
  if (typeof from === 'string') return resolveOwn(from, options, how.onError);
  if (options.session !== undefined)
    throw new InvalidOptionError('observer.session', NOT_SHOWN, 'none without a connect string');
  const close = () => Promise.resolve();
  if (from instanceof Session) {
    const logger = options.logger === undefined ? from.logger : resolveLogger(options.logger);
    return { source: { session: () => Promise.resolve(from) }, logger, close };
  }
  return { source: checkSource(from, how.supervisor), logger: resolveLogger(options.logger), close };
}

function resolveOwn(
  connect: string,
  { session, logger: own }: Pick<ElectionObserverOptions, 'session' | 'logger'>,
  onError: (error: unknown) => void,
): ObserverSource {
  parseConnectString(connect);
  if (session?.logger !== undefined) resolveLogger(session.logger, 'session.logger');
  const logger = resolveLogger(own === undefined ? session?.logger : own);
  const { environment, signal } = resolveSessionOptions(session, logger);
  if (signal !== undefined)
    throw new InvalidOptionError('session.signal', signal, 'none: stop() ends the observer');
  const sessions = new OwnSessions(connect, { given: session ?? {}, environment, logger }, onError);
  return { source: sessions, logger, close: () => sessions.close() };
}

function checkSource(from: unknown, supervisor: string): SessionSource {
  const source = from as SessionSource;
  if (
    typeof (source as Partial<SessionSource> | null | undefined)?.session === 'function' &&
    !isOfAnotherCopy(from)
  )
    return {
      session: async (signal) =>
        checkInstance('session', await abortable(source.session(signal), signal), Session),
    };
  throw new InvalidOptionError('session', from, `a Session, a connect string or ${supervisor}`);
}

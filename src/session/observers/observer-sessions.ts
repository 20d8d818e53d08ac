import { InvalidOptionError, NOT_SHOWN } from '../../errors.js';
import { abortable } from '../../platform/async/promises.js';
import { checkInstance } from '../../platform/checks.js';
import { type Logger, resolveLogger } from '../../platform/logging/logger.js';
import { isOfAnotherCopy } from '../../public-class/instance-brand.js';
import { connectSource } from '../connection/server-list.js';
import { Session } from '../session.js';
import { resolveSessionOptions, type SessionOptions } from '../session-options.js';
import { OwnSessions, type SessionSource } from '../session-source.js';

/** @internal The options of an observer of any kind that say how it gets its sessions. */
interface SourceOptions {
  readonly session?: Omit<SessionOptions, 'signal'>;
  readonly logger?: Logger;
}

/** @internal From where an observer of any kind gets its sessions. */
export interface ObserverSource {
  readonly source: SessionSource;
  readonly logger: Logger;
  /** Closes the sessions that the observer has opened. Never rejects. */
  close(): Promise<void>;
}

/**
 * @param how.onError - receives the errors of sessions that the observer has opened
 * @param how.supervisor - what else may be given, in words
 * @throws InvalidOptionError
 * @internal
 */
export function resolveSource(
  from: unknown,
  options: SourceOptions,
  how: { readonly onError: (error: unknown) => void; readonly supervisor: string },
): ObserverSource {
  if (typeof from === 'string' || typeof from === 'function') return resolveOwn(from, options, how.onError);
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
  connect: unknown,
  { session, logger: own }: SourceOptions,
  onError: (error: unknown) => void,
): ObserverSource {
  const servers = connectSource(connect);
  if (session?.logger !== undefined) resolveLogger(session.logger, 'session.logger');
  const logger = resolveLogger(own === undefined ? session?.logger : own);
  const { environment, signal } = resolveSessionOptions(session, logger);
  if (signal !== undefined)
    throw new InvalidOptionError('session.signal', signal, 'none: stop() ends the observer');
  const sessions = new OwnSessions(servers, { given: session ?? {}, environment, logger }, onError);
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

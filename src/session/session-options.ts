import { InvalidOptionError } from '../errors.js';
import type { Logger } from '../logger.js';
import { checkOptions, checkPositiveMs, checkSignal } from '../options.js';
import type { Credentials } from './connection.js';
import { type Environment, systemEnvironment } from './environment.js';
import type { Access } from './protocol.js';

/** How a session is opened. All times are in milliseconds. */
export interface SessionOptions {
  /**
   * How long the servers wait for a session that is silent before they end it. They keep it within bounds of their
   * own: `session.sessionTimeoutMs` tells what was agreed. Short: a dead host is replaced soon. Long: a pause or a
   * lost connection does no harm. @default 6000
   */
  readonly sessionTimeoutMs?: number;
  /** How long one heartbeat lets a holder act. Must be under the session timeout. @default a third of what was agreed */
  readonly leaseMs?: number;
  /** How long to wait for the first server that takes the session; `Infinity` waits for ever. @default 10000 */
  readonly connectTimeoutMs?: number;
  /** Who this session is. Nodes are created so that only who authenticates the same way may touch them. */
  readonly auth?: { readonly scheme: 'digest'; readonly credentials: string };
  /** Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL, else silent */
  readonly logger?: Logger;
  /** Aborting it gives up connecting. It does nothing once the session is open. */
  readonly signal?: AbortSignal;
  /** Clock, chance and network to use instead of the machine's: for tests and simulations. */
  readonly environment?: Environment;
}

/** @internal Options that were checked, with their defaults. */
export interface ResolvedSessionOptions {
  readonly sessionTimeoutMs: number;
  readonly leaseMs: number | undefined;
  readonly connectTimeoutMs: number;
  readonly credentials: readonly Credentials[];
  readonly access: Access;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
  readonly environment: Environment;
}

const KNOWN = [
  'sessionTimeoutMs',
  'leaseMs',
  'connectTimeoutMs',
  'auth',
  'logger',
  'signal',
  'environment',
] as const;
// A session timeout travels as a signed 32-bit number of milliseconds.
const LONGEST_SESSION_MS = 2 ** 31 - 1;

/** @throws InvalidOptionError naming the option, the value and what would be right */
export function resolveSessionOptions(given: unknown, logger: Logger): ResolvedSessionOptions {
  const options = checkOptions<SessionOptions>('session', given, KNOWN);
  const sessionTimeoutMs = checkPositiveMs('sessionTimeoutMs', options.sessionTimeoutMs, 6000);
  if (sessionTimeoutMs > LONGEST_SESSION_MS || !Number.isInteger(sessionTimeoutMs)) {
    throw new InvalidOptionError(
      'sessionTimeoutMs',
      sessionTimeoutMs,
      `a whole number of at most ${LONGEST_SESSION_MS}`,
    );
  }
  const leaseMs = options.leaseMs === undefined ? undefined : checkPositiveMs('leaseMs', options.leaseMs, 0);
  if (leaseMs !== undefined && leaseMs >= sessionTimeoutMs) {
    throw new InvalidOptionError(
      'leaseMs',
      leaseMs,
      `less than sessionTimeoutMs, which is ${sessionTimeoutMs}`,
    );
  }
  return {
    sessionTimeoutMs,
    leaseMs,
    connectTimeoutMs: checkPositiveMs('connectTimeoutMs', options.connectTimeoutMs, 10_000, {
      infinite: true,
    }),
    credentials: options.auth === undefined ? [] : [checkAuth(options.auth)],
    access: options.auth === undefined ? 'world' : 'creator',
    logger,
    signal: checkSignal('signal', options.signal),
    environment:
      options.environment === undefined ? systemEnvironment : checkEnvironment(options.environment),
  };
}

function checkEnvironment(value: Environment): Environment {
  const functions = [value?.clock?.now, value?.clock?.after, value?.random, value?.uuid, value?.openSocket];
  if (functions.every((each) => typeof each === 'function')) return value;
  throw new InvalidOptionError('environment', value, '{ clock, random, uuid, openSocket }');
}

/** Never shows what was given: it may hold a password, wherever the caller put it. */
function checkAuth(auth: unknown): Credentials {
  const { scheme, credentials } = (auth ?? {}) as Partial<Record<keyof Credentials, unknown>>;
  if (scheme !== 'digest' || typeof credentials !== 'string' || !/^[^:]+:./s.test(credentials)) {
    throw new InvalidOptionError('auth', '(not shown)', "{ scheme: 'digest', credentials: 'user:password' }");
  }
  return { scheme, credentials };
}

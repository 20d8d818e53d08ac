import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { describe, InvalidOptionError } from '../errors.js';
import {
  checkBoolean,
  checkMs,
  checkOptions,
  checkPositiveMs,
  checkSignal,
  definedOnly,
} from '../platform/checks.js';
import { type Environment, systemEnvironment } from '../platform/environment.js';
import type { Logger } from '../platform/logging/logger.js';
import type { Credentials } from './connection/connection.js';
import { type Access, checkAccess } from './protocol/acl.js';

/** How a session is opened. All times are in milliseconds. */
export interface SessionOptions {
  /**
   * How long the servers wait for a session that is silent before they end it. They keep it within bounds of their
   * own: `session.sessionTimeoutMs` is what they granted. Short: what a dead host holds is free soon; a
   * leader is replaced by its lease, see `takeover` of the elections. Long: a pause or a lost connection costs no session. A value
   * below 100 is refused: no server in use grants it, and it is mostly meant in seconds.
   * @default 6000
   */
  readonly sessionTimeoutMs?: number;
  /**
   * How long a leader or a holder may act on one heartbeat. Must be below the session timeout. A heartbeat is sent four times
   * in a lease, but not before the last one is answered. So replies have to come within half a lease, also while this process
   * is busy. If three replies in a row are late, Conclave warns once. What was held is lost then, and the connection stays.
   * Works down to 300 ms with any session timeout. Less isn't refused, and isn't tested.
   * @default a third of the granted session timeout
   */
  readonly leaseMs?: number;
  /** How long to wait for the first server that accepts the session; `Infinity` waits for ever. @default 10000 */
  readonly connectTimeoutMs?: number;
  /** Identities for the servers' authentication providers. For `digest`: `user:password`, sent in plain text unless you use `tls`. */
  readonly auth?: Credentials | readonly Credentials[];
  /**
   * Who has access to the nodes that this session creates: `creator`, clients that authenticate as this session does, and no
   * others; `world`, everybody; or an access list. A client certificate authenticates too, without `auth`.
   * @default 'creator' with `auth`, else 'world'
   */
  readonly access?: Access;
  /**
   * Whether to accept a node of a lock or an election that everybody may write, or whose children everybody may delete, though
   * `access` isn't open to all. Below such a node any client can end a leader's term, whatever the access to the leader's own
   * node is. So it is refused with `UnprotectedPathError`. The same holds for a node whose parent lets everybody delete its
   * children, unless the parent is the root: terms could begin anew. @default false
   */
  readonly allowUnprotectedPaths?: boolean;
  /**
   * Use TLS to the servers' secure ports. Takes Node's options for `tls.connect`: `ca`, with `cert` and `key` (or `pfx`) for
   * mutual TLS. The server's certificate must be one for its name in the connect string. `host`, `port`, `path` and `socket`
   * are refused.
   */
  readonly tls?: ConnectionOptions;
  /** Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL, else warnings and errors on stderr */
  readonly logger?: Logger;
  /** Ends the attempt to connect when it aborts. It has no effect once the session is open. */
  readonly signal?: AbortSignal;
  /** A clock, random numbers and a network in place of the machine's: for tests and simulations. */
  readonly environment?: Environment;
}

/** How a session is closed. */
export interface CloseOptions {
  /** How long to wait for a server's acknowledgement, in milliseconds. @default 1500 */
  readonly timeoutMs?: number;
}

const CLOSE_WITHIN_MS = 1500; // `close()` settles within 2 s; the difference is for what comes after the wait.

export function resolveCloseOptions(given: unknown): number {
  const { timeoutMs } = checkOptions<CloseOptions>('close', given, ['timeoutMs']);
  return checkMs('timeoutMs', timeoutMs) ?? CLOSE_WITHIN_MS;
}

/** @internal Options that were checked, with their defaults. */
export interface ResolvedSessionOptions
  extends Required<Omit<SessionOptions, 'leaseMs' | 'auth' | 'tls' | 'signal'>> {
  readonly leaseMs: number | undefined;
  readonly credentials: readonly Credentials[];
  readonly tls: ConnectionOptions | undefined;
  readonly signal: AbortSignal | undefined;
}

export const SESSION_OPTIONS = [
  'sessionTimeoutMs',
  'leaseMs',
  'connectTimeoutMs',
  'auth',
  'access',
  'allowUnprotectedPaths',
  'tls',
  'logger',
  'signal',
  'environment',
] as const;
/** What is shorter was meant in seconds: replies take as long when a process or a server is busy. */
export const LEAST_SESSION_TIMEOUT_MS = 100;
const MAX_SESSION_TIMEOUT_MS = 2 ** 31 - 1; // A session timeout travels as a signed 32-bit number of milliseconds.

export function resolveSessionOptions(given: unknown, logger: Logger): ResolvedSessionOptions {
  const options = checkOptions<SessionOptions>('session', given, SESSION_OPTIONS);
  const sessionTimeoutMs = checkPositiveMs('sessionTimeoutMs', options.sessionTimeoutMs, 6000);
  if (sessionTimeoutMs > MAX_SESSION_TIMEOUT_MS || !Number.isInteger(sessionTimeoutMs)) {
    const expected = `a whole number of at most ${MAX_SESSION_TIMEOUT_MS}`;
    throw new InvalidOptionError('sessionTimeoutMs', sessionTimeoutMs, expected);
  }
  if (sessionTimeoutMs < LEAST_SESSION_TIMEOUT_MS) {
    const expected = `milliseconds, ${LEAST_SESSION_TIMEOUT_MS} or more; did you mean ${sessionTimeoutMs * 1000}, which is ${sessionTimeoutMs} s?`;
    throw new InvalidOptionError('sessionTimeoutMs', sessionTimeoutMs, expected);
  }
  const { environment = systemEnvironment } = options;
  const leaseMs = options.leaseMs === undefined ? undefined : checkPositiveMs('leaseMs', options.leaseMs, 0);
  if (leaseMs !== undefined && leaseMs >= sessionTimeoutMs) {
    const expected = `less than sessionTimeoutMs, which is ${sessionTimeoutMs}`;
    throw new InvalidOptionError('leaseMs', leaseMs, expected);
  }
  return {
    sessionTimeoutMs,
    leaseMs,
    connectTimeoutMs: checkPositiveMs('connectTimeoutMs', options.connectTimeoutMs, 10_000, {
      infinite: true,
    }),
    credentials: checkAuth(options.auth),
    access: checkAccess(options.access, options.auth === undefined ? 'world' : 'creator'),
    allowUnprotectedPaths: checkBoolean('allowUnprotectedPaths', options.allowUnprotectedPaths, false),
    tls: options.tls === undefined ? undefined : checkTls(options.tls),
    logger,
    signal: checkSignal('signal', options.signal),
    environment: checkEnvironment(environment),
  };
}

function checkEnvironment(value: Environment): Environment {
  const { clock, random, uuid, resolve, openSocket } = value ?? {};
  const functions = [clock?.now, clock?.after, random, uuid, resolve, openSocket];
  if (functions.every((each) => typeof each === 'function')) return value;
  throw new InvalidOptionError('environment', value, '{ clock, random, uuid, resolve, openSocket }');
}

const NO_CREDENTIALS: readonly Credentials[] = []; // One array for all sessions without credentials.

/** The error never shows the value: it may hold a password, wherever the caller put it. */
function checkAuth(auth: unknown): readonly Credentials[] {
  if (auth === undefined) return NO_CREDENTIALS;
  const list: unknown[] = Array.isArray(auth) ? auth : [auth];
  return list.map((each) => {
    const { scheme, credentials } = (each ?? {}) as Partial<Record<keyof Credentials, unknown>>;
    const right =
      typeof scheme === 'string' &&
      /^[\w-]+$/.test(scheme) &&
      typeof credentials === 'string' &&
      (scheme !== 'digest' || /^[^:]+:./s.test(credentials));
    if (right) return { scheme, credentials };
    throw new InvalidOptionError('auth', '(not shown)', "{ scheme: 'digest', credentials: 'user:password' }");
  });
}

const NOT_FOR_TLS = ['host', 'port', 'path', 'socket'] as const;

/** Reads keys and certificates now: later, a wrong one would look like servers that can't be reached. */
function checkTls(value: unknown): ConnectionOptions {
  const wrong = (expected: string) => new InvalidOptionError('tls', '(not shown)', expected);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong("Node's options for tls.connect");
  const tls = value as ConnectionOptions;
  for (const name of NOT_FOR_TLS)
    if (tls[name] !== undefined) throw wrong(`options without ${name}: the connect string names the servers`);
  if (typeof tls.servername === 'string' && isIP(tls.servername) !== 0)
    throw wrong('a name, not an address, as servername');
  if (tls.checkServerIdentity !== undefined && typeof tls.checkServerIdentity !== 'function')
    throw wrong('a function as checkServerIdentity');
  try {
    return {
      ...definedOnly<ConnectionOptions>(tls),
      secureContext: tls.secureContext ?? process.getBuiltinModule('node:tls').createSecureContext(tls),
    };
  } catch (error) {
    throw wrong(`keys and certificates that can be read (${describe(error)})`);
  }
}

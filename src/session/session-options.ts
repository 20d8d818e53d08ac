import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { describe, InvalidOptionError, NOT_SHOWN } from '../errors.js';
import {
  asGiven,
  type ChecksOf,
  checkBoolean,
  checkMs,
  checkOptions,
  checkPositiveMs,
  checkSignal,
  definedOnly,
  type OptionsWithin,
  readOptions,
} from '../platform/checks.js';
import { type Environment, systemEnvironment } from '../platform/injected-environment.js';
import type { Logger } from '../platform/logging/logger.js';
import { threadsShareClock } from '../platform/time/machine-instant.js';
import type { Credentials } from './connection/connection.js';
import { OptionSource } from './connection/option-source.js';
import type { SessionThreadOptions } from './connection-thread/session-thread.js';
import { type Access, checkAccess } from './protocol/acl.js';
import { checkSasl } from './sasl/check-sasl.js';
import type { SaslMechanism, SaslPassword } from './sasl/sasl-mechanism.js';

/** How a session is opened. All times are in milliseconds. */
export interface SessionOptions {
  /**
   * How long the servers wait before they end a silent session, in milliseconds. The servers have bounds of their own, and
   * `session.sessionTimeoutMs` is the timeout that they granted. With a short timeout, the locks of a dead host are free soon. (A dead
   * leader is replaced when its lease is over.) With a long timeout, a pause or a lost connection doesn't cost the
   * session. A value below 100 is refused, because no server in use grants it, and the value is mostly meant in seconds.
   * @default 6000
   */
  readonly sessionTimeoutMs?: number;
  /**
   * How long a leader or a holder of a lock may act on one heartbeat, in milliseconds. It must be below the session timeout. A heartbeat is
   * sent four times in a lease, but not before the last one is answered. So replies have to come within half a lease, even while this
   * process is busy. If replies are later, terms and locks are lost, while the connection stays. If three replies in a row are late,
   * Conclave warns once. Leases down to 300 ms work with any session timeout. A shorter lease isn't tested. A value below 100 is refused:
   * heartbeats can't keep such a lease, and the value is mostly meant in seconds.
   * @default a third of the granted session timeout
   */
  readonly leaseMs?: number;
  /**
   * How long the main thread may stand still, in milliseconds, without costing a term, a shard, a lock or the session. With this option a
   * thread holds the session's connection. While the event loop of the main thread is blocked, by a long computation or a garbage
   * collection for example, it sends the newest heartbeat for what is held.
   *
   * Guaranteed: a shorter stall costs nothing that is held, if the thread runs within half of a lease, the servers answer, and the
   * connection lasts. `isHeld()` stays right in a stall, in all threads. The thread sends nothing for an event loop that hasn't turned for
   * 9/8 of this time, or this time and a second if that is less. Then what is held is taken over as from a process that hangs.
   *
   * Not guaranteed: that a lost connection is replaced in a stall. Terms, shards and locks end with their leases then, as in an outage.
   * Nor that a blocked event loop hears anything. Signals, `stop()` and deadlines wait for it, and a process that hangs leads for so much
   * longer. A candidate that is blocked doesn't claim.
   *
   * It must be above `leaseMs` and below 2^31. It is refused with an `environment`, with options of `tls` that can't be given to a thread
   * (functions, `secureContext`), and where the runtime allows no threads.
   * @default none: no thread, and a stall of a lease costs what is held
   */
  readonly maxStallMs?: number;
  /** How long to wait for the first server that accepts the session, in milliseconds; `Infinity` waits forever. @default 10000 */
  readonly connectTimeoutMs?: number;
  /**
   * Credentials for the servers' authentication providers. For `digest` they are `user:password`, sent in plain text unless you
   * use `tls`. Trim the text of a file: credentials that end with a line break are refused.
   *
   * Or give a function, which Conclave asks at the beginning of each search for a server and before each further round of servers, at most
   * after pauses that grow to a second. All tries of a round use its value. Conclave waits for a call that hasn't ended, and never begins a second one
   * beside it. If the function throws, that counts as a failed try: `NoServerError` and `ConnectTimeoutError` have the error as `cause`. A
   * wrong value is refused with `InvalidOptionError` until a first session was served, and is a failed try after that. User and password
   * of `digest` are what the access lists of nodes name: with others, the session may not use its own nodes. @default none
   */
  readonly auth?:
    | Credentials
    | readonly Credentials[]
    | (() => Credentials | readonly Credentials[] | Promise<Credentials | readonly Credentials[]>);
  /**
   * Authenticates the session by SASL, on each connection before anything else. Give `{ username, password }` for DIGEST-MD5, which doesn't
   * send the password, or a mechanism: `conclave/kerberos` has one for Kerberos. Or give a function, which is asked as that of `auth` is.
   *
   * If no server accepts the credentials in a whole round of servers, and one refuses them, the session ends with an
   * `AuthenticationError`. Once a server has served a session of its owner, a refusal is a failed try instead: the session goes on looking
   * for a server, and `NoServerError` has the refusal as its `cause`. When it was refused for a session timeout, it expires. An owner is a
   * supervisor or observer; a session that you have opened yourself is its own. A session never goes on without the identity, also if the
   * servers let in clients that they can't authenticate.
   *
   * The name must stay the same: with another one, the session may not use its own nodes. @default none
   */
  readonly sasl?:
    | SaslPassword
    | SaslMechanism
    | (() => SaslPassword | SaslMechanism | Promise<SaslPassword | SaslMechanism>);
  /**
   * Which clients have access to the nodes that this session creates. `creator`: only clients that authenticate as this session
   * does. `world`: all clients. Or give an access list. A client certificate authenticates, too, without `auth` or `sasl`.
   * @default 'creator' with `auth` or `sasl`, else 'world'
   */
  readonly access?: Access;
  /**
   * Whether to accept a path of a lock or an election that isn't protected though `access` isn't open to all. A path isn't protected if any
   * client may write its node or delete the node's children: such a client can end a leader's term, whatever the access list of the
   * leader's own node. It isn't protected either if any client may delete the children of its parent, unless the parent is the root: terms
   * could start again from 1. Without this option, such a path is refused with `UnprotectedPathError`.
   * @default false
   */
  readonly allowUnprotectedPaths?: boolean;
  /**
   * Use TLS to the servers' secure ports. Takes Node's options for `tls.connect`: `ca`, with `cert` and `key` (or `pfx`) for
   * mutual TLS. The server's certificate must be valid for its name in the connect string. `host`, `port`, `path` and `socket`
   * are refused.
   *
   * Or give a function, for certificates that are renewed while the process lives: it is asked as that of `auth` is, and must always give
   * options. The connection that serves the session outlives its certificate. The subject of a client certificate must stay the same.
   * @default plain TCP
   */
  readonly tls?: ConnectionOptions | (() => ConnectionOptions | Promise<ConnectionOptions>);
  /**
   * Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL; without that variable, warnings and errors on stderr
   */
  readonly logger?: Logger;
  /** If it aborts before the session is open, the attempt to connect ends and rejects with the signal's reason. Later it has no effect. */
  readonly signal?: AbortSignal;
  /** A clock, random numbers and a network in place of the machine's, for tests and simulations. @default the machine's */
  readonly environment?: Environment;
}

/** How a session is closed. */
export interface CloseOptions {
  /** How long to wait for a server's acknowledgement, in milliseconds. @default 1500 */
  readonly timeoutMs?: number;
}

const CLOSE_WITHIN_MS = 1500; // `close()` settles within 2 s. The difference is for the work after the wait.

export function resolveCloseOptions(given: unknown): number {
  const { timeoutMs } = checkOptions<CloseOptions>('close', given, ['timeoutMs']);
  return checkMs('timeoutMs', timeoutMs) ?? CLOSE_WITHIN_MS;
}

/** A shorter timeout was probably meant in seconds. When a process or a server is busy, a reply alone takes that long. */
export const LEAST_SESSION_TIMEOUT_MS = 100;
/** A heartbeat is sent four times in a lease. In a shorter one, a short garbage collection takes longer than a reply may. */
const LEAST_LEASE_MS = 100;
const MAX_SESSION_TIMEOUT_MS = 2 ** 31 - 1; // A session timeout travels as a signed 32-bit number of milliseconds.
const SESSION_TIMEOUT_MS = 6000;

const CHECKS = {
  sessionTimeoutMs: checkSessionTimeout,
  leaseMs: checkLease,
  maxStallMs: checkThread,
  connectTimeoutMs: (name, value) => checkPositiveMs(name, value, 10_000, { infinite: true }),
  auth: (name, value) => (value === undefined ? NO_AUTH : new OptionSource(value, checkAuth, name)),
  sasl: saslSource,
  access: (_, value, { auth, sasl }: SessionOptions) =>
    checkAccess(value, auth === undefined && sasl === undefined ? 'world' : 'creator'),
  allowUnprotectedPaths: (name, value) => checkBoolean(name, value, false),
  tls: tlsSource,
  logger: asGiven<unknown>, // The session's owner checks it.
  signal: checkSignal,
  environment: checkEnvironment,
} satisfies ChecksOf<SessionOptions>;

/** The options of sessions that another object opens itself. It ends them itself, too, so there is no `signal`. */
export const OWN_SESSION_OPTIONS = (Object.keys(CHECKS) as (keyof typeof CHECKS)[]).filter(
  (name) => name !== 'signal',
);
export const WITHIN_SESSION: OptionsWithin = { session: OWN_SESSION_OPTIONS };

/** @internal Options that were checked, with their defaults. */
export type ResolvedSessionOptions = ReturnType<typeof resolveSessionOptions>;

export function resolveSessionOptions(given: unknown, logger: Logger) {
  const { auth, maxStallMs, ...checked } = readOptions('session', given, CHECKS);
  return { ...checked, credentials: auth, hasSasl: checked.sasl !== NO_SASL, thread: maxStallMs, logger };
}

function checkSessionTimeout(name: string, value: unknown): number {
  const ms = checkPositiveMs(name, value, SESSION_TIMEOUT_MS);
  if (ms > MAX_SESSION_TIMEOUT_MS || !Number.isInteger(ms))
    throw new InvalidOptionError(name, ms, `a whole number of at most ${MAX_SESSION_TIMEOUT_MS}`);
  checkNotSeconds(name, ms, LEAST_SESSION_TIMEOUT_MS);
  return ms;
}

function checkLease(name: string, value: unknown, { sessionTimeoutMs = SESSION_TIMEOUT_MS }: SessionOptions) {
  const ms = checkPositiveMs(name, value, undefined);
  if (ms === undefined) return undefined;
  checkNotSeconds(name, ms, LEAST_LEASE_MS);
  if (ms < sessionTimeoutMs) return ms;
  throw new InvalidOptionError(name, ms, `less than sessionTimeoutMs, which is ${sessionTimeoutMs}`);
}

function saslSource(name: string, value: unknown, { environment = systemEnvironment }: SessionOptions) {
  if (value === undefined) return NO_SASL;
  const check = (each: unknown, as: string) => checkSasl(each, as, () => environment.uuid());
  return new OptionSource<SaslMechanism | undefined>(value, check, name);
}

function tlsSource(name: string, value: unknown, { maxStallMs }: SessionOptions) {
  if (value === undefined) return NO_TLS;
  const check = (each: unknown, as: string) => {
    const tls = checkTls(each, as);
    if (maxStallMs !== undefined) checkCloneable(each as ConnectionOptions, as);
    return tls;
  };
  return new OptionSource<ConnectionOptions | undefined>(value, check, name);
}

function checkNotSeconds(option: string, ms: number, leastMs: number): void {
  if (ms >= leastMs) return;
  const expected = `milliseconds, ${leastMs} or more; did you mean ${ms * 1000}, which is ${ms} s?`;
  throw new InvalidOptionError(option, ms, expected);
}

function checkThread(
  name: string,
  maxStallMs: unknown,
  { environment, sessionTimeoutMs = SESSION_TIMEOUT_MS, leaseMs = sessionTimeoutMs / 3 }: SessionOptions,
): SessionThreadOptions | undefined {
  if (maxStallMs === undefined) return undefined;
  const wrong = (expected: string) => new InvalidOptionError(name, maxStallMs, expected);
  // Not NaN either.
  if (!(typeof maxStallMs === 'number' && maxStallMs > leaseMs && maxStallMs < 2 ** 31))
    throw wrong(`a number of milliseconds above leaseMs, which is ${leaseMs}, and below ${2 ** 31}`);
  if (environment !== undefined && environment.startThread === undefined)
    throw wrong("left out with an environment: the thread has the machine's clock and sockets");
  const permission = process.permission as { has(scope: string): boolean } | undefined;
  if (permission?.has('worker') === false)
    throw wrong('left out, or a process that may start threads, by --allow-worker');
  if (!threadsShareClock()) throw wrong('left out: on this system, threads of this runtime share no clock');
  return { environment: environment ?? systemEnvironment, maxStallMs, sessionTimeoutMs };
}

/** @throws InvalidOptionError for an option that can't be cloned, for another thread */
function checkCloneable(tls: ConnectionOptions, name: string): void {
  for (const [option, value] of Object.entries(tls)) {
    if (option !== 'secureContext' && isCloneable(value)) continue;
    const expected =
      'left out: with maxStallMs another thread makes the connections, and it has to be cloned';
    throw new InvalidOptionError(`${name}.${option}`, NOT_SHOWN, expected);
  }
}

function isCloneable(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}

function checkEnvironment(name: string, value: Environment = systemEnvironment): Environment {
  const { clock, random, uuid, resolve, openSocket } = value ?? {};
  const functions = [clock?.now, clock?.after, random, uuid, resolve, openSocket];
  if (functions.every((each) => typeof each === 'function')) return value;
  throw new InvalidOptionError(name, value, '{ clock, random, uuid, resolve, openSocket }');
}

const EXPECTED_AUTH = "{ scheme: 'digest', credentials: 'user:password' }, without a line break at the end";

/** The error never shows the value, because it may contain a password, wherever the caller put it. */
function checkAuth(auth: unknown, name: string): readonly Credentials[] {
  const list: unknown[] = Array.isArray(auth) ? auth : [auth];
  return list.map((each) => {
    const { scheme, credentials } = (each ?? {}) as Partial<Record<keyof Credentials, unknown>>;
    const right =
      typeof scheme === 'string' &&
      /^[\w-]+$/.test(scheme) &&
      typeof credentials === 'string' &&
      (scheme !== 'digest' || /^[^:]+:./s.test(credentials)) &&
      !/[\r\n]$/.test(credentials); // The end of a file with a password: it would be a part of the password.
    if (right) return { scheme, credentials };
    throw new InvalidOptionError(name, NOT_SHOWN, EXPECTED_AUTH);
  });
}

// One of each for all sessions without credentials, SASL or TLS, since the memory of each session counts.
const NO_AUTH = new OptionSource<readonly Credentials[]>([], checkAuth, 'auth');
const NO_SASL = new OptionSource<SaslMechanism | undefined>(undefined, () => undefined, 'sasl');
const NO_TLS = new OptionSource<ConnectionOptions | undefined>(undefined, () => undefined, 'tls');

const NOT_FOR_TLS = ['host', 'port', 'path', 'socket'] as const;

/** Reads keys and certificates now. Later, a wrong one would look like servers that can't be reached. */
function checkTls(value: unknown, name: string): ConnectionOptions {
  const wrong = (expected: string) => new InvalidOptionError(name, NOT_SHOWN, expected);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong("Node's options for tls.connect");
  const tls = value as ConnectionOptions;
  for (const option of NOT_FOR_TLS)
    if (tls[option] !== undefined)
      throw wrong(`options without ${option}: the connect string names the servers`);
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
    // Node's own checks of types show the value, which may be a passphrase.
    const [why] = describe(error).split(' Received ');
    throw wrong(`keys and certificates that can be read (${why})`);
  }
}

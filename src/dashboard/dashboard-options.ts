import { InvalidOptionError, NOT_SHOWN } from '../errors.js';
import { checkBoolean, checkOptions } from '../platform/checks.js';
import { systemEnvironment } from '../platform/injected-environment.js';
import type { Logger } from '../platform/logging/logger.js';
import type { Clock } from '../platform/time/clock.js';
import { Session } from '../session/session.js';
import { type SessionOptions, WITHIN_SESSION } from '../session/session-options.js';
import type { SessionSource } from '../session/successive-sessions.js';

/** Whether a visitor may act, or read where that isn't open to all. @throws anything: then it may not */
export type Authorize = (request: Request) => boolean | Promise<boolean>;

/** Options of `dashboard()`. */
export interface DashboardOptions {
  /**
   * The servers: `host[:port],host[:port]…[/chroot]`. Or a function that gives them, which is asked before each round of servers: the
   * list may change, and the chroot may not. The dashboard opens its own sessions.
   */
  readonly connect?: string | (() => string | Promise<string>);
  /**
   * Without `connect`: a session, or a supervisor, of which the dashboard uses one session after another. After the end of a session that
   * you gave, it shows nothing new. It closes neither. With `connect`: the options of its own sessions, without `signal`: `close()` ends
   * them.
   */
  readonly session?: Session | SessionSource | Omit<SessionOptions, 'signal'>;
  /** The path to show: this node and all nodes below it. @default '/' */
  readonly root?: string;
  /**
   * Decides whether the visitor that sends a request may act. Without it the dashboard is read-only, and answers only visitors on this
   * machine. With it visitors on this machine may read, and `authorize` decides on all other requests.
   */
  readonly authorize?: Authorize;
  /** Whether `authorize` also decides on visitors on this machine that only read. Set it behind a proxy on this machine. @default false */
  readonly authorizeReads?: boolean;
  /** With `authorize`: more names, as `host` or `host:port`, by which visitors may reach it, besides this machine's own. @default none */
  readonly hosts?: readonly string[];
  /**
   * Origins that may act besides the dashboard's own, as `https://ops.example.com`. Name that of a proxy that
   * changes the host, and that of a proxy that ends TLS if clients other than browsers act.
   * @default none
   */
  readonly origins?: readonly string[];
  /**
   * The path of the mount, as requests have it: `/api/conclave`, for example. Give it if that path itself has a part `api`.
   * @default found out
   */
  readonly path?: string;
  /** A file in which the dashboard keeps the terms, moves and transitions for its next start, as lines of JSON. @default none */
  readonly history?: string;
  /** The header `WWW-Authenticate` of an answer that refuses a visitor without authorization. @default none */
  readonly challenge?: string;
  /** Any logger with pino's methods. @default the session's, else pino at the level of CONCLAVE_LOG_LEVEL */
  readonly logger?: Logger;
}

/** @internal Options that were checked. */
export interface ResolvedDashboardOptions {
  readonly from: Session | SessionSource | string | (() => string | Promise<string>);
  readonly clock: Clock;
  readonly overview: {
    readonly root: string;
    readonly session?: Omit<SessionOptions, 'signal'>;
    readonly logger?: Logger;
  };
  readonly authorize: Authorize | undefined;
  readonly authorizeReads: boolean;
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly path: string | undefined;
  readonly history: string | undefined;
  readonly challenge: string | undefined;
}

/** @internal */
export const DASHBOARD_OPTIONS = [
  'connect',
  'session',
  'root',
  'authorize',
  'authorizeReads',
  'hosts',
  'origins',
  'path',
  'history',
  'challenge',
  'logger',
] as const;

/** @throws InvalidOptionError if an option is wrong. Those of the overview are checked by that. */
export function resolveDashboardOptions(given: unknown): ResolvedDashboardOptions {
  const options = checkOptions<DashboardOptions>('dashboard', given, DASHBOARD_OPTIONS, WITHIN_SESSION);
  const { connect, session, root = '/', logger } = options;
  const { authorize } = options;
  if (authorize !== undefined && typeof authorize !== 'function')
    throw new InvalidOptionError('authorize', NOT_SHOWN, 'a function'); // It may be a token.
  const hosts = checkTexts(
    'hosts',
    options.hosts,
    isHost,
    "names of hosts, as 'ops.example.com' or 'ops:8080'",
  );
  const origins = checkTexts('origins', options.origins, isOrigin, "origins, as 'https://ops.example.com'");
  const authorizeReads = checkBoolean('authorizeReads', options.authorizeReads, false);
  if (authorize === undefined && hosts.length > 0)
    throw new InvalidOptionError('hosts', hosts, 'none without authorize: only this machine may read then');
  if (authorize === undefined && authorizeReads)
    throw new InvalidOptionError('authorizeReads', true, 'authorize, which decides');
  const own = connect === undefined ? undefined : ownSessionOptions(session);
  return {
    from: connect ?? (session as Session | SessionSource),
    clock: (session instanceof Session ? session.environment : (own?.environment ?? systemEnvironment)).clock,
    overview: { root, ...(own && { session: own }), ...(logger && { logger }) },
    ...{ authorize, authorizeReads, hosts, origins },
    path: checkPlace(options.path),
    history: checkText('history', options.history, 'the name of a file'),
    challenge: checkText('challenge', options.challenge, 'the value of a header'),
  };
}

function ownSessionOptions(session: DashboardOptions['session']): Omit<SessionOptions, 'signal'> | undefined {
  if (session instanceof Session || typeof (session as Partial<SessionSource>)?.session === 'function')
    throw new InvalidOptionError('session', session, 'its options, or no connect');
  return session as Omit<SessionOptions, 'signal'> | undefined;
}

function checkText(name: string, value: unknown, expected: string): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && /^[^\0\r\n]+$/.test(value)) return value;
  throw new InvalidOptionError(name, value, expected);
}

function checkPlace(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && /^(\/[^/?#\s]+)*\/?$/.test(value)) return value.replace(/\/$/, '');
  throw new InvalidOptionError('path', value, "a path, as '/admin/conclave'");
}

function checkTexts(
  name: string,
  value: unknown,
  isRight: (text: string) => boolean,
  expected: string,
): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every((each) => typeof each === 'string' && isRight(each)))
    return (value as string[]).map((each) => each.toLowerCase());
  throw new InvalidOptionError(name, value, expected);
}

function isHost(text: string): boolean {
  return URL.canParse(`http://${text}/`) && new URL(`http://${text}/`).host === text.toLowerCase();
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text.toLowerCase() && /^https?:/i.test(text);
}

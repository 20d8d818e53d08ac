import { InvalidOptionError, NOT_SHOWN } from '../errors.js';
import { asGiven, type ChecksOf, readOptions } from '../platform/checks.js';
import { systemEnvironment } from '../platform/injected-environment.js';
import type { Logger } from '../platform/logging/logger.js';
import { Session } from '../session/session.js';
import { type SessionOptions, WITHIN_SESSION } from '../session/session-options.js';
import type { SessionSource } from '../session/session-source.js';

/** What a visitor may do: only see the page, act too, or neither. */
export type VisitorAccess = 'read' | 'act' | false;

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
   * Decides what the visitor that sends a request may do: `'read'`, `'act'`, which includes reading, or `false` for neither. It decides on
   * every request except `healthz`, also on those from this machine. If it throws, rejects or returns something else, the visitor may do
   * neither, and gets the status 500. Without it the dashboard is read-only, and answers only visitors on this machine.
   */
  readonly authorize?: (request: Request) => VisitorAccess | Promise<VisitorAccess>;
  /** With `authorize`: more names, as `host` or `host:port`, by which visitors may reach it, besides this machine's own. @default none */
  readonly hosts?: readonly string[];
  /**
   * The path of the mount, as requests have it: `/api/conclave`, for example. Give it if that path itself has a part `api`.
   * @default found out
   */
  readonly path?: string;
  /** Any logger with pino's methods. @default the session's, else pino at the level of CONCLAVE_LOG_LEVEL */
  readonly logger?: Logger;
}

const CHECKS = {
  connect: asGiven<DashboardOptions['connect']>, // The overview checks it, and what else is as given.
  session: asGiven<DashboardOptions['session']>,
  root: (_, value: DashboardOptions['root'] = '/') => value,
  authorize: checkAuthorize,
  hosts: checkHosts,
  path: checkPlace,
  logger: asGiven<DashboardOptions['logger']>,
} satisfies ChecksOf<DashboardOptions>;

/** @internal */
export const DASHBOARD_OPTIONS = Object.keys(CHECKS);

/** @internal Options that were checked. */
export type ResolvedDashboardOptions = ReturnType<typeof resolveDashboardOptions>;

/** @throws InvalidOptionError if an option is wrong. Those of the overview are checked by that. */
export function resolveDashboardOptions(given: unknown) {
  const options = readOptions('dashboard', given, CHECKS, { within: WITHIN_SESSION });
  const { connect, session, root, logger, ...own } = options;
  const sessions = connect === undefined ? undefined : ownSessionOptions(session);
  const { clock } =
    session instanceof Session ? session.environment : (sessions?.environment ?? systemEnvironment);
  return {
    ...own,
    from: connect ?? (session as Session | SessionSource),
    clock,
    overview: { root, ...(sessions && { session: sessions }), ...(logger && { logger }) },
  };
}

function checkAuthorize(name: string, value: DashboardOptions['authorize']): DashboardOptions['authorize'] {
  if (value === undefined || typeof value === 'function') return value;
  throw new InvalidOptionError(name, NOT_SHOWN, 'a function'); // It may be a token.
}

function ownSessionOptions(session: DashboardOptions['session']): Omit<SessionOptions, 'signal'> | undefined {
  if (session instanceof Session || typeof (session as Partial<SessionSource>)?.session === 'function')
    throw new InvalidOptionError('session', session, 'its options, or no connect');
  return session as Omit<SessionOptions, 'signal'> | undefined;
}

function checkPlace(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && /^(\/[^/?#\s]+)*\/?$/.test(value)) return value.replace(/\/$/, '');
  throw new InvalidOptionError(name, value, "a path, as '/admin/conclave'");
}

function checkHosts(name: string, value: unknown, { authorize }: DashboardOptions): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string' && isHost(each)))
    throw new InvalidOptionError(name, value, "names of hosts, as 'ops.example.com' or 'ops:8080'");
  if (authorize === undefined && value.length > 0)
    throw new InvalidOptionError(name, value, 'none without authorize: only this machine may read then');
  return value.map((each: string) => each.toLowerCase());
}

function isHost(text: string): boolean {
  return URL.canParse(`http://${text}/`) && new URL(`http://${text}/`).host === text.toLowerCase();
}

import { describe } from '../errors.js';
import type { ResolvedDashboardOptions, VisitorAccess } from './dashboard-options.js';

/** Why a request is refused, as the answer says it. */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The facts of a request that decide whether it is refused. */
export interface Visit {
  /** `host` or `host:port`, as the visitor has addressed it, in lower case. */
  readonly host: string;
  /** `http:` or `https:`, as the server in which the handler is mounted was asked. A proxy may have been asked by the other one. */
  readonly scheme: string;
  /** The visitor's address; `undefined`: the server in which the handler is mounted hasn't said. */
  readonly remoteAddress: string | undefined;
  /** Whether a proxy says that it has forwarded the request. */
  readonly isForwarded: boolean;
}

/** The headers that proxies add. No browser and no client on this machine has a reason to send one of them. */
const FORWARDING =
  /^(forwarded|via|x-forwarded.*|x-original-.*|x-envoy-.*|([a-z-]+-)?(real|client|connecting)-ip)$/;

/** @param remoteAddress - as a socket has it */
export function visitOf(request: Request, remoteAddress?: string): Visit {
  const { host, protocol } = new URL(request.url);
  const header = request.headers.get('host')?.trim().toLowerCase();
  return {
    // Most frameworks make the URL of that header. Where they differ, the header is what a browser has sent, which no page can change.
    host: header ?? host,
    scheme: protocol,
    remoteAddress,
    isForwarded: [...request.headers.keys()].some((name) => FORWARDING.test(name)),
  };
}

/** Whether that host is a name of this machine itself: no other machine's name server can say so. */
export function isLoopbackHost(host: string): boolean {
  const name = nameOf(host);
  return name === 'localhost' || name === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/i.test(address);
}

function nameOf(host: string): string {
  return host.replace(/:\d+$/, '');
}

/** Whether the visitor is surely on this machine, as far as that can be known. */
export function isLocal({ host, remoteAddress, isForwarded }: Visit): boolean {
  if (isForwarded || !isLoopbackHost(host)) return false;
  return remoteAddress === undefined || isLoopbackAddress(remoteAddress);
}

/**
 * Refuses a request that names another host than this one. A page of another site could make its own host's name stand for this machine
 * (DNS rebinding): the browser would send the page's requests here under that name, and let the page read the answers.
 */
export function hostRefusal({ host }: Visit, allowed: readonly string[]): RequestError | undefined {
  if (isLoopbackHost(host) || allowed.includes(host) || allowed.includes(nameOf(host))) return undefined;
  const message = `The dashboard doesn't answer to the host ${shown(host)}: its option hosts lists the hosts that it answers to.`;
  return new RequestError(403, 'HOST_NOT_ALLOWED', message);
}

/**
 * Refuses an action that a page of another site may have sent. A browser names the origin of each action. Over TLS, and to this machine, it
 * also says whether the page has the same origin (`Sec-Fetch-Site`). No page can change these headers. Other clients have to name an
 * origin, too.
 */
export function originRefusal(headers: Headers, { host, scheme }: Visit): RequestError | undefined {
  const origin = headers.get('origin')?.toLowerCase();
  const site = headers.get('sec-fetch-site');
  if (origin === undefined) {
    if (site === 'same-origin') return undefined;
    const message = 'An action needs the header Origin with the origin of this dashboard.';
    return new RequestError(403, 'ORIGIN_MISSING', message);
  }
  // A proxy that ends TLS was asked by another scheme than this server. Then only the browser knows whether the scheme is the same.
  const schemes = site === null ? [scheme] : ['http:', 'https:'];
  const isOwn = schemes.some((each) => originOf(each, host) === origin);
  if (isOwn && (site ?? 'same-origin') === 'same-origin') return undefined;
  const message = `Pages from ${shown(origin)} may not act here: the request names the host ${shown(host)}. A proxy has to pass on the header Host.`;
  return new RequestError(403, 'ORIGIN_NOT_ALLOWED', message);
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 256));
}

/** Without the port if it is the scheme's own. */
function originOf(scheme: string, host: string): string | undefined {
  const url = `${scheme}//${host}`;
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/**
 * What a visitor may do. Without `authorize` a visitor on this machine may read.
 * @throws Error if `authorize` throws, rejects, or returns something else
 */
export async function accessOf(
  request: Request,
  visit: Visit,
  authorize: ResolvedDashboardOptions['authorize'],
): Promise<VisitorAccess> {
  if (authorize === undefined) return isLocal(visit) ? 'read' : false;
  let access: unknown;
  try {
    access = await authorize(request);
  } catch (error) {
    throw new Error(`authorize has failed: ${describe(error)}`, { cause: error });
  }
  if (access === 'read' || access === 'act' || access === false) return access;
  throw new Error(`authorize returned ${nameOfWrong(access)}: expected 'read', 'act' or false`);
}

/** Without what a text or an object says: it may be a token. */
function nameOfWrong(value: unknown): string {
  if (value === null || ['boolean', 'number', 'undefined'].includes(typeof value)) return String(value);
  return typeof value === 'string' ? 'another text' : `a value of the type ${typeof value}`;
}

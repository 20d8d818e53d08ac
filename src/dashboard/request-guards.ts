import type { ResolvedDashboardOptions } from './dashboard-options.js';
import { failure } from './responses.js';

/** Why a request is refused; `undefined`: it isn't. */
export type Refusal = { readonly code: string; readonly message: string } | undefined;

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
    // Frameworks make the URL of that header. If they don't, the two must both be allowed: see `hostRefusal`.
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
export function hostRefusal({ host }: Visit, allowed: readonly string[]): Refusal {
  if (isLoopbackHost(host) || allowed.includes(host) || allowed.includes(nameOf(host))) return undefined;
  return {
    code: 'HOST_NOT_ALLOWED',
    message: `The dashboard doesn't answer to the host ${JSON.stringify(host.slice(0, 256))}: its option hosts lists the hosts that it answers to.`,
  };
}

/**
 * Refuses an action that a page of another site may have sent. A browser names the origin of each action. Over TLS, and to this machine, it
 * also says whether the page has the same origin (`Sec-Fetch-Site`). No page can change these headers. Other clients have to name an
 * origin, too.
 */
export function originRefusal(
  headers: Headers,
  { host, scheme }: Visit,
  allowed: readonly string[],
): Refusal {
  const origin = headers.get('origin')?.toLowerCase();
  const site = headers.get('sec-fetch-site');
  if (origin === undefined) {
    if (site === 'same-origin') return undefined;
    return {
      code: 'ORIGIN_MISSING',
      message: 'An action needs the header Origin with the origin of this dashboard.',
    };
  }
  if (allowed.includes(origin)) return undefined;
  // A proxy that ends TLS was asked by another scheme than this server. Then only the browser knows whether the scheme is the same.
  const schemes = site === null ? [scheme] : ['http:', 'https:'];
  const isOwn = schemes.some((each) => originOf(each, host) === origin);
  if (isOwn && (site ?? 'same-origin') === 'same-origin') return undefined;
  return {
    code: 'ORIGIN_NOT_ALLOWED',
    message: `Pages from ${JSON.stringify(origin.slice(0, 256))} may not act here: the option origins lists the origins that may.`,
  };
}

/** Without the port if it is the scheme's own. */
function originOf(scheme: string, host: string): string | undefined {
  const url = `${scheme}//${host}`;
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Decides who may see and who may act. No call rejects. */
export interface Authorizer {
  mayAct(request: Request): Promise<boolean>;
  /** The answer to a visitor that may not read; `undefined`: it may. */
  readRefusal(request: Request, visit: Visit): Promise<Response | undefined>;
  /** The answer to a visitor that may not act; `undefined`: it may. */
  actRefusal(request: Request): Promise<Response | undefined>;
}

type Options = Pick<ResolvedDashboardOptions, 'authorize' | 'authorizeReads' | 'challenge'>;

/** @param onError - `authorize` has thrown, or has given something else than true or false: that refuses */
export function authorizer(
  { authorize, authorizeReads, challenge }: Options,
  onError: (error: unknown) => void,
): Authorizer {
  const mayAct = async (request: Request): Promise<boolean> => {
    if (authorize === undefined) return false;
    try {
      // A body that it reads is to be read again.
      const answer: unknown = await authorize(request.body === null ? request : request.clone());
      if (typeof answer === 'boolean') return answer;
      throw new TypeError(`authorize returned ${typeof answer} instead of true or false`);
    } catch (error) {
      onError(error);
      return false;
    }
  };
  const refused = () => {
    const error = { code: 'NOT_AUTHORIZED', message: 'this visitor is not authorized' };
    return challenge === undefined
      ? failure(403, error)
      : failure(401, error, { 'www-authenticate': challenge });
  };
  return {
    mayAct,
    readRefusal: async (request, visit) => {
      if (!authorizeReads && isLocal(visit)) return undefined;
      if (authorize === undefined)
        return failure(403, {
          code: 'NOT_LOCAL',
          message: 'without the option authorize, the dashboard answers only visitors on its own machine',
        });
      return (await mayAct(request)) ? undefined : refused();
    },
    actRefusal: async (request) => {
      if (authorize === undefined)
        return failure(403, {
          code: 'READ_ONLY',
          message: 'without the option authorize, the dashboard is read-only',
        });
      return (await mayAct(request)) ? undefined : refused();
    },
  };
}

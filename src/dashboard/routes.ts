/** The target of a request. */
export type Route = ShownRoute | ActionRoute | { readonly name: 'healthz' } | { readonly name: 'unknown' };

/** What visitors that may read can ask for. */
export type ShownRoute =
  | { readonly name: 'page' | (typeof LISTS)[number] }
  | { readonly name: 'election'; readonly path: string };

export type ActionRoute = ElectionRoute | GroupRoute;
export interface ElectionRoute {
  readonly name: 'election-action';
  readonly path: string;
  readonly action: 'resign' | 'hand-over' | 'revoke';
}
export interface GroupRoute {
  readonly name: 'group-action';
  readonly path: string;
  readonly action: 'move' | 'pin' | 'unpin';
}

const UNKNOWN: Route = { name: 'unknown' };
const LISTS = ['state', 'events', 'elections', 'locks', 'groups', 'servers'] as const;
const ELECTION = /^elections\/(.+?)(?:\/(resign|hand-over|revoke))?$/s;
const GROUP = /^groups\/(.+?)\/(move|pin|unpin)$/s;

/**
 * What the path of a request asks for. A pure decision. The handler may be mounted anywhere, and a proxy may have changed what is before:
 * only the end of the path counts, unless the place of the mount was given. The paths of elections are encoded, so that they hold no slash;
 * one that a framework or a proxy has decoded is understood as well.
 * @param pathname - of the request's URL
 * @param mount - where the handler is mounted, if that was given, without a slash at its end
 */
export function routeOf(pathname: string, mount?: string): Route {
  const isBelow = mount !== undefined && (pathname === mount || pathname.startsWith(`${mount}/`));
  const path = isBelow ? pathname.slice(mount.length) : pathname;
  const at = mount === undefined ? lastApi(path) : path.startsWith('/api/') ? 0 : -1;
  const route = at >= 0 ? apiRouteOf(path.slice(at + '/api/'.length)) : undefined;
  if (path.endsWith('/healthz') && (route ?? UNKNOWN) === UNKNOWN) return { name: 'healthz' };
  if (route !== undefined) return route;
  const last = path.slice(path.lastIndexOf('/') + 1);
  // A mount without a slash at its end can't be told from a file that isn't there, but files have extensions.
  return last.includes('.') ? UNKNOWN : { name: 'page' };
}

/** Where the part `/api/` begins that is the dashboard's own; -1: there is none. */
function lastApi(path: string): number {
  const at = path.lastIndexOf('/api/');
  if (at >= 0 && path.endsWith('/')) return -1; // Mounted below a part `api`.
  // The election's own path has such a part, and was decoded.
  const outer = path.search(/\/api\/(elections|groups)\//);
  return outer >= 0 && outer < at ? outer : at;
}

function apiRouteOf(rest: string): Route {
  const list = LISTS.find((name) => name === rest);
  if (list !== undefined) return { name: list };
  const [, election, action] = ELECTION.exec(rest) ?? [];
  if (election !== undefined) {
    const path = decoded(election);
    if (path === undefined) return UNKNOWN;
    if (action === undefined) return { name: 'election', path };
    return { name: 'election-action', path, action: action as ElectionRoute['action'] };
  }
  const [, group, change] = GROUP.exec(rest) ?? [];
  const path = group === undefined ? undefined : decoded(group);
  if (path === undefined) return UNKNOWN;
  return { name: 'group-action', path, action: change as GroupRoute['action'] };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The methods by which a route may be asked for. */
export function methodsOf(route: Route): readonly string[] {
  if ('action' in route) return ['POST'];
  return route.name === 'events' ? ['GET'] : ['GET', 'HEAD'];
}

/** The part of the page's address after `#`: the open panel and the search. */
export interface Route {
  readonly open: { readonly kind: Kind; readonly path: string } | null;
  readonly query: string;
}

const KINDS = ['election', 'lock', 'group'] as const;
export type Kind = (typeof KINDS)[number];

export function routeOf(hash: string): Route {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  const kind = KINDS.find((each) => values.has(each));
  return {
    open: kind === undefined ? null : { kind, path: values.get(kind) as string },
    query: values.get('search') ?? '',
  };
}

export function hashOf({ open, query }: Route): string {
  const values = new URLSearchParams();
  if (open !== null) values.set(open.kind, open.path);
  if (query !== '') values.set('search', query);
  return `#${values}`;
}

/**
 * The URL at which the page is mounted, with a slash at its end. The page finds it out by itself, because a proxy may rewrite
 * the server's paths. Without the slash the browser would resolve `api/state` against `/admin/conclave` as `/admin/api/state`.
 */
export function baseUrlOf(href: string): string {
  const url = new URL(href);
  const folder = url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`;
  return `${url.origin}${folder}`;
}

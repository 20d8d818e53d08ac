/**
 * Where the page is mounted, with a slash at its end. The server may not know: a proxy may rewrite its paths. The browser
 * would resolve `api/state` against `/admin/conclave` as `/admin/api/state`.
 */
export function baseUrlOf(href: string): string {
  const url = new URL(href);
  const folder = url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`;
  return `${url.origin}${folder}`;
}

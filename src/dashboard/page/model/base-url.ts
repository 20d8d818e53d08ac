/**
 * The URL at which the page is mounted, with a slash at its end. The page finds it out by itself, because a proxy may rewrite
 * the server's paths. Without the slash the browser would resolve `api/state` against `/admin/conclave` as `/admin/api/state`.
 */
export function baseUrlOf(href: string): string {
  const url = new URL(href);
  const folder = url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`;
  return `${url.origin}${folder}`;
}

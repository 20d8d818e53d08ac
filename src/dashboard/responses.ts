import { pageCsp, pageHtml } from './page-html.js';
import { encode } from './snapshot-cache.js';

const COMMON = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
const NOTHING_ALLOWED = "default-src 'none'; frame-ancestors 'none'";

export function json(
  status: number,
  body: ReadableStream<Uint8Array> | object,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body instanceof ReadableStream ? body : JSON.stringify(body), {
    status,
    headers: {
      ...COMMON,
      'content-security-policy': NOTHING_ALLOWED,
      'content-type': 'application/json; charset=utf-8',
      ...headers,
    },
  });
}

export function failure(
  status: number,
  { code, message }: { readonly code: string; readonly message: string },
  headers?: Readonly<Record<string, string>>,
): Response {
  return json(status, { error: { code, message } }, headers);
}

export const pageBytes = encode(pageHtml);

export function page(body: ReadableStream<Uint8Array>): Response {
  const headers = {
    ...COMMON,
    'content-security-policy': pageCsp,
    'content-type': 'text/html; charset=utf-8',
  };
  return new Response(body, { headers });
}

export function eventStream(body: ReadableStream<Uint8Array>): Response {
  const headers = {
    ...COMMON,
    'content-security-policy': NOTHING_ALLOWED,
    'content-type': 'text/event-stream; charset=utf-8',
    // Else a middleware that compresses, as Express's `compression()`, holds events back until the stream has ended.
    'cache-control': `${COMMON['cache-control']}, no-transform`,
    'x-accel-buffering': 'no', // Else nginx holds events back.
  };
  return new Response(body, { headers });
}

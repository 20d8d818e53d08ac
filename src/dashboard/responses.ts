import { pageCsp, pageHtml } from './page-html.js';
import type { RequestError } from './request-guards.js';

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'content-type': 'application/json; charset=utf-8',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export function json(
  status: number,
  body: ReadableStream<Uint8Array> | object,
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers = { ...HEADERS, ...more };
  return new Response(body instanceof ReadableStream ? body : JSON.stringify(body), { status, headers });
}

export function failure(
  { status, code, message }: RequestError,
  headers?: Readonly<Record<string, string>>,
): Response {
  return json(status, { error: { code, message } }, headers);
}

export const pageBytes = Buffer.from(pageHtml);

export function page(body: ReadableStream<Uint8Array>): Response {
  return json(200, body, { 'content-security-policy': pageCsp, 'content-type': 'text/html; charset=utf-8' });
}

export function eventStream(body: ReadableStream<Uint8Array>): Response {
  return json(200, body, {
    'content-type': 'text/event-stream; charset=utf-8',
    // Else a middleware that compresses, as Express's `compression()`, holds events back until the stream has ended.
    'cache-control': `${HEADERS['cache-control']}, no-transform`,
    'x-accel-buffering': 'no', // Else nginx holds events back.
  });
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as WebReadableStream } from 'node:stream/web';
import { describe } from '../errors.js';
import type { DashboardHandler } from './dashboard.js';

/**
 * A dashboard as a listener for `http.createServer`, or for what builds on it: Express, Fastify's `raw`, Nest, Connect. A visitor that goes away ends its stream, and one that
 * reads too slowly loses its connection. HTTP/2 of `node:http2` isn't served: such a request gets the status 505.
 *
 * @example
 * ```ts
 * createServer(toNodeListener(dashboard({ connect: 'zk1:2181' }))).listen(7070, '127.0.0.1');
 * ```
 */
export function toNodeListener(
  handler: DashboardHandler,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (incoming, outgoing) => {
    void answer(handler, incoming, outgoing); // Never rejects.
  };
}

async function answer(
  handler: DashboardHandler,
  incoming: IncomingMessage & { originalUrl?: string },
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  const leave = () => gone.abort();
  outgoing.on('close', leave);
  // If the connection ends while an earlier request on it is still answered, this response isn't closed.
  incoming.on('error', leave);
  try {
    if (incoming.httpVersionMajor > 1) return void outgoing.writeHead(505).end(HTTP_2);
    const request = requestOf(incoming, gone.signal);
    if (request === undefined) return void outgoing.writeHead(400).end();
    const response = await handler(request, { remoteAddress: incoming.socket.remoteAddress });
    if (gone.signal.aborted) return void response.body?.cancel();
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body === null || incoming.method === 'HEAD') {
      await response.body?.cancel();
      return void outgoing.end();
    }
    // Nothing is read ahead: the limits of what waits for visitors count what the body still has.
    const body = Readable.fromWeb(response.body as WebReadableStream, { highWaterMark: 0 });
    // Also while the client reads nothing. Without the error, which the server would emit as `clientError`.
    body.once('error', () => outgoing.destroy());
    await pipeline(body, outgoing, { signal: gone.signal });
  } catch (error) {
    outgoing.destroy(error instanceof Error ? error : new Error(describe(error)));
  }
}

const HTTP_2 = 'The dashboard is served only over HTTP/1.1, not over HTTP/2 (node:http2).\n';

/** HTTP/1.0 knows no header `Host`. No host has this name (RFC 2606), so such a visitor learns only whether the dashboard is healthy. */
const NO_HOST = 'no-host.invalid';

/** `undefined`: what was sent is no request that can be answered. */
function requestOf(
  incoming: IncomingMessage & { originalUrl?: string },
  signal: AbortSignal,
): Request | undefined {
  const { method = 'GET', headers, rawHeaders, socket } = incoming;
  const scheme = 'encrypted' in socket ? 'https' : 'http';
  // Express has cut off the place of the mount in `url`.
  const target = incoming.originalUrl ?? incoming.url ?? '/';
  const host = headers.host || NO_HOST;
  const url = `${scheme}://${host}${target}`;
  if (!target.startsWith('/') || /[/?#@\\]/.test(host) || !URL.canParse(url)) return undefined;
  const pairs = Array.from({ length: rawHeaders.length / 2 }, (_, at) =>
    rawHeaders.slice(2 * at, 2 * at + 2),
  );
  const hasBody = method !== 'GET' && method !== 'HEAD';
  try {
    return new Request(url, {
      method,
      headers: pairs as [string, string][],
      signal,
      ...(hasBody && { body: bodyOf(incoming), duplex: 'half' as const }),
    } as RequestInit);
  } catch {
    return undefined; // A method such as TRACE.
  }
}

/**
 * A framework may have read the body: Express's `text()` and `raw()` leave it as it was sent, and `json()` leaves the parsed value, of which
 * this function makes JSON again.
 */
function bodyOf(incoming: IncomingMessage & { body?: unknown }): ReadableStream | Uint8Array | string {
  const { body } = incoming;
  if (!incoming.readableEnded || body === undefined) return Readable.toWeb(incoming) as ReadableStream;
  return typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
}

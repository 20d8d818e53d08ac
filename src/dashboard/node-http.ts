import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { describe } from '../errors.js';
import type { DashboardHandler } from './dashboard.js';

/** Requests and answers of node:http, and of what builds on it: Express, Fastify's `raw`, Nest, Connect. */
export type NodeListener = (
  request: IncomingMessage & { originalUrl?: string },
  response: ServerResponse,
) => void;

/**
 * A dashboard as a listener for `http.createServer`, or as Express's middleware. A visitor that goes away ends its stream.
 *
 * @example
 * ```ts
 * createServer(toNodeListener(dashboard({ connect: 'zk1:2181' }))).listen(7070, '127.0.0.1');
 * ```
 */
export function toNodeListener(handler: DashboardHandler): NodeListener {
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
  outgoing.on('close', () => gone.abort());
  try {
    const request = requestOf(incoming, gone.signal);
    if (request === undefined) return void outgoing.writeHead(400).end();
    const response = await handler(request, { remoteAddress: incoming.socket.remoteAddress });
    if (gone.signal.aborted) return void response.body?.cancel();
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body === null || incoming.method === 'HEAD') {
      await response.body?.cancel();
      return void outgoing.end();
    }
    for await (const chunk of response.body) {
      if (gone.signal.aborted) break; // Ends the body.
      if (!outgoing.write(chunk)) await drained(outgoing, gone.signal);
    }
    outgoing.end();
  } catch (error) {
    outgoing.destroy(error instanceof Error ? error : new Error(describe(error)));
  }
}

/** `undefined`: what was sent is no request that can be answered. */
function requestOf(
  incoming: IncomingMessage & { originalUrl?: string },
  signal: AbortSignal,
): Request | undefined {
  const { method = 'GET', headers, rawHeaders, socket } = incoming;
  const scheme = 'encrypted' in socket ? 'https' : 'http';
  // Express has cut off the place of the mount in `url`.
  const target = incoming.originalUrl ?? incoming.url ?? '/';
  const url = `${scheme}://${headers.host ?? ''}${target}`;
  if (!target.startsWith('/') || !URL.canParse(url)) return undefined;
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

/** A framework may have read the body, as Express's `json()` does. Then this function writes the parsed value as JSON again. */
function bodyOf(incoming: IncomingMessage & { body?: unknown }): ReadableStream | string {
  if (incoming.readableEnded && incoming.body !== undefined) return JSON.stringify(incoming.body);
  return Readable.toWeb(incoming) as ReadableStream;
}

function drained(outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      outgoing.off('drain', settle);
      gone.removeEventListener('abort', settle);
      resolve();
    };
    outgoing.on('drain', settle);
    gone.addEventListener('abort', settle);
  });
}

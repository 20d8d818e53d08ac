import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { connect as connectOverHttp2, createServer as createHttp2Server } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { DashboardHandler } from '../../../src/dashboard/dashboard.js';
import { toNodeListener } from '../../../src/dashboard/node-http.js';
import { listening } from '../../support/listening.js';
import { onTestFinished } from '../../support/vitest/test-end.js';
import { deferred } from '../../support/waiting.mjs';

function listenerOf(answer: (request: Request) => Response | Promise<Response>): RequestListener {
  const handler: DashboardHandler = Object.assign(async (request: Request) => answer(request), {
    close: () => Promise.resolve(),
  });
  return toNodeListener(handler);
}

async function serve(listener: RequestListener) {
  const server = createServer(listener);
  return { server, port: await listening(server) };
}

/** Sends `bytes`, and reads nothing until it is asked to. */
async function send(port: number, bytes: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined); // The server may end the connection.
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

/** What the server answers to a request that ends the connection. */
async function answerTo(port: number, bytes: string): Promise<string> {
  return await text(await send(port, bytes));
}

describe('a request of node:http', () => {
  it.each(['/healthz', '//healthz', '/admin/healthz'])(
    'without a host, as HTTP/1.0 sends it, keeps its path %s',
    async (path) => {
      const { port } = await serve(listenerOf(({ url }) => new Response(url)));
      const answer = await answerTo(port, `GET ${path} HTTP/1.0\r\n\r\n`);
      expect(answer).toContain(`\r\n\r\nhttp://no-host.invalid${path}`);
      const empty = await answerTo(port, `GET ${path} HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n`);
      expect(empty).toContain(`http://no-host.invalid${path}`);
    },
  );

  it.each(['localhost/healthz?', 'a@localhost', 'localhost#', 'localhost\\x'])(
    'is refused if its host %o would be read as another part of its address',
    async (host) => {
      const { port } = await serve(listenerOf(({ url }) => new Response(url)));
      const answer = await answerTo(port, `GET /x HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    },
  );

  it.each<[string, (bytes: Buffer) => unknown]>([
    ['text', (bytes) => bytes.toString()],
    ['bytes', (bytes) => bytes],
    ['a value', (bytes) => JSON.parse(bytes.toString())],
  ])('has its body also after another parser has taken it as %s', async (_, parse) => {
    const listener = listenerOf(async (request) => new Response(await request.text()));
    const { port } = await serve(async (incoming, outgoing) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      listener(Object.assign(incoming, { body: parse(Buffer.concat(chunks)) }), outgoing);
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{"to":"two"}' });
    expect(await answer.text()).toBe('{"to":"two"}');
  });

  it('by HTTP/2 is told that this is not served', async () => {
    const listener = listenerOf(() => new Response('served')) as never;
    const session = connectOverHttp2(`http://127.0.0.1:${await listening(createHttp2Server(listener))}`);
    onTestFinished(() => session.destroy());
    const stream = session.request({ ':path': '/' });
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect([headers[':status'], await text(stream)]).toEqual([505, expect.stringContaining('HTTP/1.1')]);
  });

  it('is aborted if its connection ends while an earlier request on it is still being answered', async () => {
    const requests: Request[] = [];
    const both = deferred();
    const aborted = deferred();
    const { port } = await serve(
      listenerOf((request) => {
        requests.push(request);
        if (requests.length === 2) both.resolve();
        return new Response(new ReadableStream());
      }),
    );
    const socket = await send(port, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(2));
    await both.promise;
    requests[1]?.signal.addEventListener('abort', () => aborted.resolve());
    socket.destroy();
    await aborted.promise;
  });
});

it('an answer of node:http reads no more of its body than its client has room for', async () => {
  let read = 0;
  let written = 0;
  const isFull = deferred();
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    controller.enqueue(new Uint8Array(64 * 1024));
    read += 64 * 1024;
  };
  const listener = listenerOf(
    () => new Response(new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 })),
  );
  const { port } = await serve((incoming, outgoing) => {
    const { write } = outgoing;
    outgoing.write = ((chunk: Uint8Array) => {
      written += chunk.byteLength;
      const isDrained = write.call(outgoing, chunk, 'utf8');
      if (!isDrained) setImmediate(() => outgoing.writableNeedDrain && isFull.resolve());
      return isDrained;
    }) as typeof write;
    listener(incoming, outgoing);
  });
  await send(port, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await isFull.promise;
  expect(read).toBe(written);
});

it('an answer of node:http ends its connection when its body is cut off, also while its client reads nothing', async () => {
  const isFull = deferred();
  let body: ReadableStreamDefaultController<Uint8Array> | undefined;
  const start = (controller: typeof body) => {
    body = controller;
  };
  const listener = listenerOf(() => new Response(new ReadableStream<Uint8Array>({ start })));
  const closed = deferred();
  const { server, port } = await serve((incoming, outgoing) => {
    const { write } = outgoing;
    outgoing.write = ((chunk: Uint8Array) => {
      const isDrained = write.call(outgoing, chunk, 'utf8');
      if (!isDrained) isFull.resolve();
      return isDrained;
    }) as typeof write;
    listener(incoming, outgoing);
  });
  server.on('connection', (socket: Socket) => void socket.on('close', () => closed.resolve()));
  const clientErrors: unknown[] = [];
  server.on('clientError', (error: unknown) => clientErrors.push(error));
  const socket = await send(port, 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(server, 'request');
  // More than the buffers of both ends take.
  for (let mib = 0; mib < 64; mib++) body?.enqueue(new Uint8Array(1024 * 1024));
  await isFull.promise;
  body?.error(new Error('cut off'));
  await closed.promise;
  expect(socket.isPaused()).toBe(true);
  expect(clientErrors).toEqual([]);
});

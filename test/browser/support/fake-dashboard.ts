import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { DashboardChange, DashboardState } from '../../../src/dashboard/api-types.js';
import { pageCsp, pageHtml } from '../../../src/dashboard/page-html.js';

export interface Post {
  readonly path: string;
  readonly body: unknown;
}

/** A server of the dashboard's page that sends the data of a test. It ends with the test. */
export class FakeDashboard {
  /** The answer to each POST. */
  answer: { readonly status: number; readonly body: unknown } = { status: 200, body: { ok: true } };
  readonly posts: Post[] = [];
  #state: DashboardState;
  /** The number of requests for a stream of events. */
  streams = 0;
  readonly #mount: string;
  readonly #open = new Set<ServerResponse>();
  #server: Server | undefined;
  #port = 0;

  private constructor(state: DashboardState, mount: string) {
    this.#state = state;
    this.#mount = mount;
  }

  /** @param mount - the path of the page, with or without a slash at its end */
  static async start(state: DashboardState, mount = '/'): Promise<FakeDashboard> {
    const fake = new FakeDashboard(state, mount);
    await fake.listen();
    onTestFinished(() => fake.stop());
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#mount}`;
  }

  /** Listens. After a stop it uses the same port again. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    this.#server = server;
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  /** The state with which streams begin from now on. */
  set state(state: DashboardState) {
    this.#state = state;
  }

  get state(): DashboardState {
    return this.#state;
  }

  send(change: Omit<DashboardChange, 'now'>): void {
    this.#write('change', { now: Date.now(), ...change });
  }

  #write(event: string, data: unknown): void {
    for (const response of this.#open) response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const folder = this.#mount.endsWith('/') ? this.#mount : `${this.#mount}/`;
    const { method, url = '' } = request;
    if (method === 'POST' && url.startsWith(`${folder}api/`)) {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
      this.posts.push({ path: url.slice(folder.length), body });
      response.writeHead(this.answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(this.answer.body));
    } else if (url === `${folder}api/events`) {
      this.streams += 1;
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      this.#open.add(response.once('close', () => this.#open.delete(response)));
      const state = { ...this.#state, now: Date.now() };
      response.write(`event: state\ndata: ${JSON.stringify(state)}\n\n`);
    } else if (url === this.#mount) {
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': pageCsp,
      });
      response.end(pageHtml);
    } else response.writeHead(404).end();
  }
}

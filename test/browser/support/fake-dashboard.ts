import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { DashboardChange, DashboardState } from '../../../src/dashboard/api-types.js';
import { pageCsp, pageHtml } from '../../../src/dashboard/page-html.js';
import { listening } from '../../support/listening.js';

export interface Post {
  readonly path: string;
  readonly body: unknown;
}

/** A server of the dashboard's page that sends the data of a test. It ends with the test. */
export class FakeDashboard {
  /** The answer to each POST. */
  answer: { readonly status: number; readonly body: unknown } = { status: 200, body: { ok: true } };
  readonly posts: Post[] = [];
  readonly #mount: string;
  readonly #open = new Set<ServerResponse>();
  #port = 0;

  /** @param state - with which each stream begins */
  private constructor(
    readonly state: DashboardState,
    mount: string,
  ) {
    this.#mount = mount;
  }

  /** @param mount - the path of the page, with or without a slash at its end */
  static async start(state: DashboardState, mount = '/'): Promise<FakeDashboard> {
    const fake = new FakeDashboard(state, mount);
    fake.#port = await listening(createServer((request, response) => void fake.#serve(request, response)));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#mount}`;
  }

  send(change: Omit<DashboardChange, 'now'>): void {
    const data = JSON.stringify({ now: Date.now(), ...change });
    for (const response of this.#open) response.write(`event: change\ndata: ${data}\n\n`);
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
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      this.#open.add(response.once('close', () => this.#open.delete(response)));
      const state = { ...this.state, now: Date.now() };
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

import { type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type DashboardHandler, type DashboardOptions, dashboard } from 'conclave/dashboard';
import { describe, expect, it } from 'vitest';
import { withExpress } from '../../examples/dashboard/express.js';
import { withFastify } from '../../examples/dashboard/fastify.js';
import { withHono } from '../../examples/dashboard/hono.js';
import { withNest } from '../../examples/dashboard/nest.js';
import { nodeHttp } from '../../examples/dashboard/node-http.js';
import { follow, getJson, post, serve } from '../support/conclave/dashboards.js';
import { campaign } from '../support/conclave/electors.js';
import { openSession } from '../support/conclave/sessions.js';
import { listening } from '../support/listening.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { SILENT } from '../support/silent-logger.mjs';
import { endsWithTest, onTestFinished } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const PATH = '/elections/a';

async function setUp(options: DashboardOptions = {}) {
  const { connectString: connect } = await startEmbedded();
  const elector = endsWithTest(await campaign(await openSession({}, connect), PATH, { id: 'one' }));
  const handler = dashboard({
    connect,
    root: '/elections',
    logger: SILENT,
    authorize: () => 'act',
    ...options,
  });
  onTestFinished(() => handler.close());
  return { handler, elector };
}

const listen = async (server: Server) => `http://127.0.0.1:${await listening(server)}/admin/conclave/`;

const SERVERS: Record<string, (handler: DashboardHandler) => Server | Promise<Server>> = {
  'node:http': nodeHttp,
  Express: withExpress,
  Fastify: withFastify,
  Hono: withHono as (handler: DashboardHandler) => Server,
  Nest: withNest,
};

describe.each(Object.entries(SERVERS))('mounted in %s, the dashboard', (_, mount) => {
  it('gives its page, elections and events, carries out actions, and ends its streams', async () => {
    const { handler } = await setUp();
    const url = await listen(await mount(handler));
    const page = await fetch(url);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await page.text()).toMatch(/^<!doctype html>/i);
    const { elections } = await getJson<{ elections: unknown[] }>(`${url}api/elections`);
    expect(elections).toMatchObject([
      { path: PATH, leader: { id: 'one', term: 1 }, candidates: [{ id: 'one' }] },
    ]);
    expect(await getJson(`${url}api/elections/${encodeURIComponent(PATH)}`)).toEqual(elections[0]);
    const { states, changes, ended } = await follow(`${url}api/events`);
    expect(states).toMatchObject([{ root: '/elections', mayAct: true, elections: [{ path: PATH }] }]);
    const resigned = await post(`${url}api/elections/${encodeURIComponent(PATH)}/resign`, { graceMs: 5000 });
    expect(resigned).toMatchObject({ status: 200, body: { ok: true, former: 'one' } });
    const happened = () => changes.flatMap(({ transitions = [] }) => transitions.map(({ kind }) => kind));
    await until(() => happened().includes('ended'), 'the end of the term');
    await handler.close();
    await ended;
  });
});

/**
 * Passes requests on, with the beginning of their path changed.
 * @param host - what it names as the host. nginx names the server behind it by default.
 */
function rewritingProxy(from: string, to: URL, host = to.host) {
  return (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const path = incoming.url?.startsWith(from) ? incoming.url.slice(from.length) : '';
    const headers = { ...incoming.headers, host };
    const passed = request(new URL(path, to), { method: incoming.method ?? 'GET', headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  };
}

describe('behind a proxy that changes paths, the dashboard', () => {
  it('is found by its relative addresses, at any other place', async () => {
    const { handler } = await setUp();
    const inner = new URL(await listen(nodeHttp(handler)));
    const url = `${await serve(rewritingProxy('/tools/zk/', inner))}tools/zk/`;
    expect(await (await fetch(url)).text()).not.toMatch(/(?:href|src)="(?:\/|https?:)/);
    expect(await getJson(`${url}api/elections`)).toMatchObject({ elections: [{ path: PATH }] });
    const { states } = await follow(`${url}api/events`);
    expect(states).toHaveLength(1);
    // The browser's origin is the proxy's, which the dashboard doesn't know.
    const refused = await post(`${url}api/elections/${encodeURIComponent(PATH)}/resign`, {});
    expect(refused).toMatchObject({ status: 403, body: { error: { code: 'ORIGIN_NOT_ALLOWED' } } });
  });

  it('takes actions if the proxy passes on the host that its page has', async () => {
    const { handler } = await setUp({ hosts: ['ops.example.com'] });
    const inner = new URL(await listen(nodeHttp(handler)));
    const url = `${await serve(rewritingProxy('/tools/zk/', inner, 'ops.example.com'))}tools/zk/`;
    const resign = async (headers: Readonly<Record<string, string>>) =>
      (await post(`${url}api/elections/${encodeURIComponent(PATH)}/resign`, {}, headers)).status;
    const origin = 'https://ops.example.com'; // The proxy ends TLS.
    expect(await resign({ origin, 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await resign({ origin })).toBe(403);
    expect(await resign({ origin, 'sec-fetch-site': 'same-origin' })).toBe(200);
  });
});

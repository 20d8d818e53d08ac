import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect as connectTo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import type { DashboardState } from '../../src/dashboard/api-types.js';
import { dashboard } from '../../src/dashboard/dashboard.js';
import type { DashboardOptions } from '../../src/dashboard/dashboard-options.js';
import { toNodeListener } from '../../src/dashboard/node-http.js';
import { serializeCandidate } from '../../src/election/candidates/candidate.js';
import { candidateUuid } from '../../src/election/candidates/candidate-uuid.js';
import { serializeRecord } from '../../src/election/record/election-record.js';
import { InvalidOptionError } from '../../src/errors.js';
import { entryPrefix } from '../../src/queue/names-and-order.js';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import { follow, getJson, post, serve } from '../support/conclave/dashboards.js';
import { campaign } from '../support/conclave/electors.js';
import { openSession } from '../support/conclave/sessions.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { SILENT } from '../support/silent-logger.mjs';
import { endsWithTest, onTestFinished } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const PATH = '/elections/a';
const ENCODED = encodeURIComponent(PATH);

/** What is answered to an action that is refused. */
const refusal = (status: number, code: string) => ({ status, body: { error: { code } } });

async function setUp(options: DashboardOptions = {}) {
  const server = await startEmbedded();
  const { connectString: connect } = server;
  const join = async (id: string, path = PATH, more: Parameters<typeof campaign>[2] = {}) => {
    return endsWithTest(await campaign(await openSession({}, connect), path, { id, ...more }));
  };
  const open = async (more: DashboardOptions = {}) => {
    const handler = dashboard({ connect, root: '/elections', logger: SILENT, ...options, ...more });
    onTestFinished(() => handler.close());
    const url = await serve(toNodeListener(handler));
    return { handler, url };
  };
  return { server, connect, join, open };
}

describe('the dashboard', () => {
  it('gives elections, each by its path, servers and its health as JSON, with strict headers', async () => {
    const { join, open, server } = await setUp();
    await join('one');
    await join('two');
    const { url } = await open();
    const { elections } = await getJson<DashboardState>(`${url}api/elections`);
    expect(elections).toMatchObject([
      {
        path: PATH,
        leader: { id: 'one', term: 1, since: expect.any(Number) },
        candidates: [{ id: 'one' }, { id: 'two' }],
      },
    ]);
    expect(await getJson(`${url}api/elections/${ENCODED}`)).toEqual(elections[0]);
    expect(await getJson(`${url}api/locks`)).toEqual({ locks: [] });
    expect(await getJson(`${url}api/groups`)).toEqual({ groups: [] });
    expect(await getJson(`${url}healthz`)).toEqual({ connected: true });
    const state = await getJson<DashboardState>(`${url}api/state`);
    expect(state).toMatchObject({ root: '/elections', mayAct: false, connected: true, elections });
    expect(Math.abs(state.now - Date.now())).toBeLessThan(60_000);
    for (const path of ['', 'api/state']) {
      const { headers } = await fetch(url + path);
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cache-control')).toBe('no-store');
    }
    const bytes = JSON.stringify(state);
    for (const { id } of server.sessions()) expect(bytes).not.toContain(String(id));
  });

  it('never rejects, also if a request has no address that can be read', async () => {
    const { open } = await setUp();
    const { handler } = await open();
    const { status } = await handler({ url: 'nowhere', method: 'GET' } as Request);
    expect(status).toBe(500);
  });

  it('answers 404 for what is not there, 405 with the methods that are, and nothing to a HEAD but headers', async () => {
    const { open } = await setUp();
    const { url } = await open();
    const statusOf = async (path: string, method = 'GET') => (await fetch(url + path, { method })).status;
    expect(await statusOf('api/elections/%2Fnone')).toBe(404);
    expect(await statusOf('api/nothing')).toBe(404);
    expect(await statusOf('favicon.ico')).toBe(404);
    const refused = await fetch(`${url}api/elections/%2Fa/resign`);
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await statusOf('api/state', 'DELETE')).toBe(405);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('sends the state and then each change, and the heartbeats, as events', async () => {
    const { join, open } = await setUp();
    const one = await join('one');
    await join('two');
    const { url } = await open();
    const { headers, states, changes } = await follow(`${url}api/events`);
    expect(headers.get('content-type')).toContain('text/event-stream');
    // Express's `compression()` would hold events back.
    expect(headers.get('cache-control')).toBe('no-store, no-transform');
    expect(states).toMatchObject([{ elections: [{ leader: { id: 'one' } }] }]);
    await until(() => changes.some((change) => change.heartbeats?.[0]?.path === PATH), 'a heartbeat');
    await until(
      () => changes.some((change) => change.servers?.[0]?.role === 'standalone'),
      'the role of the server',
    );
    await one.resign();
    await until(
      () => changes.some((change) => change.elections?.[0]?.leader?.id === 'two'),
      'the change of the leader',
    );
    const happened = () =>
      changes.flatMap(({ transitions = [] }) => transitions.map(({ kind, id }) => `${kind} ${id}`));
    for (const each of ['ended one', 'elected two', 'left one', 'joined one'])
      await until(() => happened().includes(each), each);
  });

  it('lets a hundred visitors follow its events, and refuses further ones until one of them has left', async () => {
    const { connect } = await setUp();
    const handler = endsWithTest(dashboard({ connect, logger: SILENT }));
    const leaving = new AbortController();
    const open = (signal?: AbortSignal) =>
      handler(new Request('http://localhost/api/events', signal && { signal }));
    const first = await open(leaving.signal);
    const others = await Promise.all(Array.from({ length: 99 }, () => open()));
    expect([first, ...others].every(({ status }) => status === 200)).toBe(true);
    const refused = await open();
    expect([refused.status, await refused.json()]).toMatchObject([
      503,
      { error: { code: 'TOO_MANY_STREAMS' } },
    ]);
    leaving.abort();
    expect((await open()).status).toBe(200);
  });

  it('answers an action that it has not begun when it is closed as any later request, and logs no failure', async () => {
    const { join, open } = await setUp();
    await join('one');
    const errors: unknown[] = [];
    const error = (...given: unknown[]) => void errors.push(given);
    const { handler, url } = await open({ authorize: () => 'act', logger: { ...SILENT, error } });
    const request = httpRequest(`${url}api/elections/${ENCODED}/resign`, {
      method: 'POST',
      headers: { origin: new URL(url).origin, 'content-type': 'application/json', 'content-length': 100 },
    });
    const answer = once(request, 'response');
    request.write('{'); // The rest never comes.
    await getJson(`${url}api/state`);
    await handler.close();
    const [response] = await answer;
    expect([response.statusCode, JSON.parse(await text(response))]).toMatchObject([
      503,
      { error: { code: 'CLOSED' } },
    ]);
    request.destroy();
    expect(errors).toEqual([]);
  });

  it('ends its streams and its sessions when it is closed, and refuses requests from then on', async () => {
    const { open, server } = await setUp();
    const { handler, url } = await open();
    const { ended } = await follow(`${url}api/events`);
    await handler.close();
    await ended;
    expect(server.sessions()).toEqual([]);
    expect((await fetch(`${url}api/state`)).status).toBe(503);
    await handler.close();
  });

  it('passes names and data of other clients on as they are', async () => {
    const { connect, open } = await setUp();
    const id = `<script>alert(1)</script>\u202E\n\n event: x ${'i'.repeat(100)}`;
    const path = '/elections/<img src=x onerror=alert(1)>';
    const data = '\n\ndata: {"x":1}\u2028</script>';
    const writer = await openSession({}, connect); // Writes data that Conclave itself wouldn't write.
    await writer.ensurePath(path);
    const uuid = candidateUuid(randomUUID(), 0, 1000);
    const created = await writer.create(`${path}/${entryPrefix(uuid)}`, {
      ...{ mode: 'ephemeral-sequential', data: serializeCandidate(id, data) },
    });
    const node = created.value.slice(path.length + 1);
    await writer.setData(path, serializeRecord({ state: 'held', term: 1, node, leaseMs: 1000 }));
    const { url } = await open();
    const { states } = await follow(`${url}api/events`);
    expect(states[0]?.elections).toMatchObject([{ path, leader: { id }, candidates: [{ id, data }] }]);
    expect(await getJson(`${url}api/elections/${encodeURIComponent(path)}`)).toMatchObject({ path });
    const { headers } = await fetch(`${url}api/elections`);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });
});

/** Sends a request with headers that `fetch` doesn't send. */
function statusWith(url: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

async function getOverHttp10(url: string, path: string): Promise<string> {
  const socket = connectTo(Number(new URL(url).port), '127.0.0.1');
  socket.end(`GET ${path} HTTP/1.0\r\n\r\n`);
  return await text(socket);
}

describe('visitors of the dashboard', () => {
  it('are answered by the names of this machine alone, and not behind a proxy, unless others are allowed', async () => {
    const { open } = await setUp();
    const { url } = await open();
    const port = new URL(url).port;
    for (const host of [`localhost:${port}`, '127.0.0.1', '[::1]'])
      expect(await statusWith(`${url}api/state`, { host })).toBe(200);
    for (const host of ['evil.example', 'evil.example:80', `127.0.0.1.evil.example:${port}`])
      expect(await statusWith(`${url}api/state`, { host })).toBe(403);
    expect(await statusWith(`${url}api/state`, { 'x-forwarded-for': '192.0.2.7' })).toBe(403);
    const other = await open({
      authorize: (request) => request.headers.get('x-token') === 't' && 'read',
      hosts: ['ops.example'],
    });
    expect(await statusWith(`${other.url}api/state`, { host: 'ops.example', 'x-token': 't' })).toBe(200);
    expect(await statusWith(`${other.url}api/state`, { host: 'ops.example' })).toBe(403);
    expect(await statusWith(`${other.url}api/state`, { host: 'evil.example', 'x-token': 't' })).toBe(403);
    expect(await statusWith(`${other.url}healthz`, { host: '10.0.0.7:8080' })).toBe(200);
  });

  it('learn the health alone, by HTTP/1.0 without a host', async () => {
    const { open } = await setUp();
    const { url } = await open();
    await getJson(`${url}api/state`); // The dashboard has read.
    expect(await getOverHttp10(url, '/healthz')).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\n\{"connected":true\}$/s);
    expect(await getOverHttp10(url, '/api/state')).toMatch(/^HTTP\/1\.1 403 .*HOST_NOT_ALLOWED/s);
    // The path isn't the host.
    expect(await getOverHttp10(url, '/localhost/api/state')).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('may act only if they are authorized, by POST, and from the dashboard itself', async () => {
    const { join, open } = await setUp();
    const one = await join('one');
    const readOnly = await open();
    const path = `api/elections/${ENCODED}/resign`;
    expect(await post(readOnly.url + path, {})).toMatchObject(refusal(403, 'READ_ONLY'));
    const { url } = await open({
      authorize: (request) => request.headers.get('authorization') === 'Bearer secret' && 'act',
    });
    const right = { authorization: 'Bearer secret' };
    const codeOf = async (headers: Record<string, string>, body: unknown = {}) => {
      const answer = await post(url + path, body, headers);
      return [answer.status, (answer.body.error as { code: string } | undefined)?.code];
    };
    expect(await codeOf({})).toEqual([403, 'NOT_AUTHORIZED']);
    expect(await codeOf({ authorization: 'Bearer wrong' })).toEqual([403, 'NOT_AUTHORIZED']);
    expect(await codeOf({ ...right, origin: 'http://evil.example' })).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    expect(await codeOf({ ...right, 'sec-fetch-site': 'cross-site' })).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
    expect(await codeOf({ ...right, 'content-type': 'text/plain' })).toEqual([415, 'NOT_JSON']);
    const bare = { method: 'POST', headers: { ...right, origin: new URL(url).origin } };
    expect((await fetch(url + path, bare)).status).toBe(415);
    expect(await codeOf(right, '')).toEqual([400, 'INVALID_BODY']);
    expect(await codeOf(right, 'no json')).toEqual([400, 'INVALID_BODY']);
    expect(await codeOf(right, '[]')).toEqual([400, 'INVALID_BODY']);
    expect(await codeOf(right, { nonsense: 1 })).toEqual([400, 'INVALID_BODY']);
    expect(await codeOf(right, { graceMs: -1 })).toEqual([400, 'INVALID_OPTION']);
    expect(await codeOf(right, { graceMs: 'x'.repeat(20_000) })).toEqual([413, 'BODY_TOO_LONG']);
    expect(one.term).toBeDefined();
    expect((await post(`${url}api/elections/%2Felections%2Fnone/resign`, {}, right)).status).toBe(404);
    expect((await post(`${url}api/elections/%2Fother/resign`, {}, right)).status).toBe(404);
    expect(await post(url + path, { graceMs: 1000 }, right)).toMatchObject({
      status: 200,
      body: { ok: true, former: 'one' },
    });
    const { mayAct } = (await (await fetch(`${url}api/state`, { headers: right })).json()) as DashboardState;
    expect(mayAct).toBe(true);
  });

  it('hand a term over to the candidate that they name, and are told if there is none like that', async () => {
    const { join, open } = await setUp();
    for (const id of ['one', 'two', 'three']) await join(id);
    const { url } = await open({ authorize: () => 'act' });
    const path = `${url}api/elections/${ENCODED}`;
    const none = await post(`${path}/hand-over`, { to: 'nobody' });
    expect(none).toMatchObject(refusal(409, 'NO_CANDIDATE'));
    expect(await post(`${path}/hand-over`, {})).toMatchObject({ status: 400 });
    const done = await post(`${path}/hand-over`, { to: 'three' });
    expect(done).toMatchObject({ status: 200, body: { ok: true, former: 'one' } });
    const leader = async () => (await getJson<DashboardState>(`${url}api/state`)).elections[0]?.leader?.id;
    await until(async () => (await leader()) === 'three', 'the handover');
  });

  it('deposed another leader than the one that they saw, and chose another candidate of the same id', async () => {
    const { join, open } = await setUp();
    const [first] = [await join('one'), await join('two'), await join('twin'), await join('twin')];
    const { url } = await open({ authorize: () => 'act' });
    const path = `${url}api/elections/${ENCODED}`;
    const seen = await getJson<DashboardState['elections'][number]>(path);
    await first.stop();
    const leader = async () => (await getJson<typeof seen>(path)).leader;
    await until(async () => (await leader())?.id === 'two', 'the next leader');
    for (const action of ['resign', 'revoke', 'hand-over'])
      expect(
        await post(`${path}/${action}`, {
          leader: seen.leader?.node,
          ...(action === 'hand-over' && { to: 'twin' }),
        }),
      ).toMatchObject({
        status: 409,
        body: { error: { code: 'OTHER_LEADER', message: 'two leads now: no candidate was asked' } },
      });
    const to = seen.candidates.at(-1)?.node;
    const done = await post(`${path}/hand-over`, { leader: (await leader())?.node, to });
    expect(done).toMatchObject({ status: 200, body: { ok: true, former: 'two' } });
    await until(async () => (await leader())?.node === to, 'the last candidate');
  });

  it('are told when a leader refuses', async () => {
    const { join, open } = await setUp();
    await join('one', PATH, { onRevoke: () => false });
    const { url } = await open({ authorize: () => 'act' });
    const answer = await post(`${url}api/elections/${ENCODED}/revoke`, { by: 'ops' });
    expect(answer).toMatchObject(refusal(409, 'REVOCATION_REFUSED'));
  });

  it('may do what authorize says, on this machine too, and read without acting', async () => {
    const { join, open } = await setUp();
    const one = await join('one');
    const asked: string[] = [];
    const { url } = await open({
      authorize: async (request) => {
        asked.push(`${request.method} ${new URL(request.url).pathname}`);
        if (request.method === 'POST') await request.text(); // The dashboard reads the body, too.
        const access = request.headers.get('x-access');
        return access === 'read' || access === 'act' ? access : false;
      },
    });
    const path = `api/elections/${ENCODED}/resign`;
    const codeOf = async (access: string) => {
      const headers = { 'x-access': access };
      const read = await fetch(`${url}api/state`, { headers });
      const state = (await read.json()) as DashboardState & { error?: { code: string } };
      const { status, body } = await post(url + path, {}, headers);
      return [
        read.status,
        state.error?.code ?? state.mayAct,
        status,
        (body.error as typeof state.error)?.code,
      ];
    };
    expect(await codeOf('none')).toEqual([403, 'NOT_AUTHORIZED', 403, 'NOT_AUTHORIZED']);
    expect((await fetch(url)).status).toBe(403);
    expect((await fetch(url)).headers.has('www-authenticate')).toBe(false);
    expect((await fetch(`${url}healthz`)).status).toBe(200);
    expect(asked).not.toContain('GET /healthz');
    expect(await codeOf('read')).toEqual([200, false, 403, 'READ_ONLY']);
    expect(one.term).toBeDefined();
    expect(await codeOf('act')).toEqual([200, true, 200, undefined]);
    const { states } = await follow(`${url}api/events`, { 'x-access': 'read' });
    expect(states).toMatchObject([{ mayAct: false }]);
  });

  it.each<[string, () => unknown, string]>([
    ['throws', () => assert.fail('no key'), 'authorize has failed: no key'],
    ['rejects', () => Promise.reject(new Error('no store')), 'authorize has failed: no store'],
    ['returns true', () => true, "authorize returned true: expected 'read', 'act' or false"],
    ['returns nothing', () => undefined, 'authorize returned undefined'],
    ['resolves with a text', async () => 'admin', 'authorize returned another text'],
    ['returns an object', () => ({ act: true }), 'authorize returned a value of the type object'],
  ])('may do nothing if authorize %s, which the log names', async (_, authorize, cause) => {
    const { join, open } = await setUp();
    const one = await join('one');
    const causes: unknown[] = [];
    const warn = (fields: unknown, message?: string) =>
      message === 'a request to the dashboard has failed' &&
      causes.push((fields as { err: Error }).err.message);
    const { url } = await open({ authorize: authorize as () => false, logger: { ...SILENT, warn } });
    for (const path of ['', 'api/state', 'api/events']) {
      const response = await fetch(url + path);
      expect([response.status, await response.json()]).toMatchObject([500, { error: { code: 'INTERNAL' } }]);
    }
    expect(await post(`${url}api/elections/${ENCODED}/resign`, {})).toMatchObject({ status: 500 });
    expect(one.term).toBeDefined();
    expect(causes).toEqual(Array(4).fill(expect.stringContaining(cause)));
  });
});

it('shards on the dashboard are moved, pinned and unpinned, and what can not be done is said', async () => {
  const { connect, open } = await setUp();
  const group = '/shards/orders';
  const path = `api/groups/${encodeURIComponent(group)}`;
  const start = async (id: string) => {
    const supervisor = new ShardSupervisor({
      connect,
      path: group,
      id,
      shards: 4,
      guardian: false,
      logger: SILENT,
    });
    onTestFinished(() => supervisor.stop());
    await supervisor.start();
    return supervisor;
  };
  const [one, two] = [await start('one'), await start('two')];
  await until(() => one.owned.size === 2 && two.owned.size === 2, 'the even shares');
  const { url } = await open({ root: '/shards', authorize: () => 'act' });
  const { states, changes } = await follow(`${url}api/events`);
  expect(states[0]?.groups).toMatchObject([
    { path: group, state: 'owned', members: [{ id: 'one' }, { id: 'two' }] },
  ]);
  const [shard = ''] = one.owned.keys();
  const moved = await post(`${url}${path}/move`, { shard, member: 'two' });
  expect(moved).toMatchObject({ status: 200, body: { ok: true, moved: expect.arrayContaining([shard]) } });
  await until(() => two.owned.has(shard), 'the move');
  const moves = () => changes.flatMap(({ groups = [] }) => groups.flatMap((each) => each.moves));
  await until(() => moves().some((move) => move.shard === shard && move.from === 'one' && move.to === 'two'));
  expect(await post(`${url}${path}/pin`, { shard, member: 'one' })).toMatchObject({
    status: 200,
    body: { ok: true },
  });
  await until(() => one.owned.has(shard), 'the pinned shard');
  const pins = async () => (await getJson<DashboardState>(`${url}api/groups`)).groups[0]?.pins;
  await until(async () => (await pins())?.length === 1);
  expect(await pins()).toEqual([{ shard, member: 'one' }]);
  const pinned = await post(`${url}${path}/move`, { shard, member: 'two' });
  expect(pinned).toMatchObject(refusal(409, 'INVALID_STATE'));
  expect(await post(`${url}${path}/unpin`, { shard })).toMatchObject({ status: 200 });
  await until(async () => (await pins())?.length === 0);
  const codeOf = async (action: string, body: unknown) =>
    (await post(`${url}${path}/${action}`, body)).status;
  expect(await codeOf('move', { shard: '99', member: 'two' })).toBe(400);
  expect(await codeOf('pin', { shard: '99', member: 'two' })).toBe(400);
  expect(await codeOf('move', { shard })).toBe(400);
  expect(await codeOf('unpin', {})).toBe(400);
});

it('a dashboard of a supervisor uses its sessions, and needs no others', async () => {
  const { connect, server } = await setUp();
  const supervisor = new ElectionSupervisor({
    ...{ connect, path: PATH, id: 'self', guardian: false },
    ...{
      lead: (term) =>
        new Promise<void>((resolve) => void term.signal.addEventListener('abort', () => resolve())),
    },
    logger: SILENT,
  });
  onTestFinished(() => supervisor.stop());
  await supervisor.start();
  const handler = endsWithTest(dashboard({ session: supervisor, root: '/elections', logger: SILENT }));
  const { elections } = await getJson<DashboardState>(`${await serve(toNodeListener(handler))}api/elections`);
  expect(elections).toMatchObject([{ leader: { id: 'self' } }]);
  expect(server.sessions()).toHaveLength(1);
});

describe('the options of a dashboard', () => {
  it.each<[string, unknown]>([
    ['none that says where the servers are', {}],
    ['a wrong connect string', { connect: '' }],
    ['a wrong root', { connect: 'a', root: 'elections' }],
    ['an unknown option', { connect: 'a', nonsense: 1 }],
    ['hosts without authorize', { connect: 'a', hosts: ['b'] }],
    ['a host that is a URL', { connect: 'a', authorize: () => 'act', hosts: ['http://b'] }],
    ['authorize that is no function', { connect: 'a', authorize: 'yes' }],
  ])('are refused: %s', (_, options) => {
    expect(() => dashboard(options as DashboardOptions)).toThrow(InvalidOptionError);
  });
});

import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { dashboard } from '../../src/dashboard/dashboard.js';
import type { DashboardOptions } from '../../src/dashboard/dashboard-options.js';
import { toNodeListener } from '../../src/dashboard/node-http.js';
import { hashOf } from '../../src/dashboard/page/model/address-hash.js';
import { serve } from '../support/conclave/dashboards.js';
import { RunningCommand } from '../support/conclave/running-command.js';
import { Ensemble } from '../support/servers/ensemble.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';
import { useChromium } from './support/chromium.js';

const open = useChromium();
let ensemble: Ensemble;
beforeAll(async () => {
  ensemble = await Ensemble.startForMany({ tickMs: 500 });
});
afterAll(() => ensemble.stop());

/** Starts a candidate in a process of its own. */
function campaign(path: string, id: string): RunningCommand {
  const words = ['run', path, '--id', id, '--', 'sh', '-c', 'echo leads; exec sleep 1000'];
  return new RunningCommand(words, { connect: ensemble.connectString });
}

/** Starts a candidate, and resolves when it leads. */
async function lead(path: string, id: string): Promise<RunningCommand> {
  const command = campaign(path, id);
  await until(() => command.stdout === 'leads\n', `${id} to lead`);
  return command;
}

/** Kills a candidate as its machine's end does: with its keeper, so that nobody closes its session. */
async function kill(command: RunningCommand): Promise<void> {
  await until(() => command.keeperPid !== undefined, 'its keeper');
  const { pid, keeperPid } = command;
  for (const signal of ['SIGSTOP', 'SIGKILL'] as const)
    for (const each of [keeperPid as number, pid]) process.kill(each, signal);
}

/** Starts a dashboard's server, which the test can restart. It ends with the test. */
async function startDashboard(options: DashboardOptions) {
  const { connectString: connect } = ensemble;
  let port = 0;
  let server: Server | undefined;
  let handler: ReturnType<typeof dashboard> | undefined;
  const start = async () => {
    handler = dashboard({ connect, logger: SILENT, ...options });
    server = createServer(toNodeListener(handler)).listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  const stop = async () => {
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    await handler?.close();
    server.closeAllConnections();
    server = undefined;
    await closed;
  };
  await start();
  onTestFinished(stop);
  return { url: `http://127.0.0.1:${port}/`, port, start, stop };
}

/** Starts a proxy that serves a server's root at another path, and answers no other path. */
async function startRewritingProxy(port: number, mount: string): Promise<string> {
  const root = await serve((request, response) => {
    const { url = '', method, headers } = request;
    if (!url.startsWith(mount)) return void response.writeHead(404).end();
    const path = `/${url.slice(mount.length).replace(/^\//, '')}`;
    const forwarded = httpRequest({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  return new URL(mount, root).href;
}

describe('the page of a dashboard of an ensemble', () => {
  it('shows the leader, and when that is killed the next one, why, and the gap between them, without being loaded again', async () => {
    const root = '/killed';
    const first = await lead(`${root}/billing`, 'first');
    campaign(`${root}/billing`, 'second');
    const { url } = await startDashboard({ root });
    const page = await open(url);
    const leader = () => page.locator('.card .leader').textContent();
    await expect.poll(leader).toBe('first');
    await expect.poll(() => page.locator('.card .next').textContent()).toMatch(/next second\s*by queue/);
    await expect.poll(() => page.locator('.servers li').count()).toBe(3);
    await expect.poll(() => page.locator('.servers [data-role=leader]').count()).toBe(1);
    await expect
      .poll(() => page.evaluate(() => document.querySelector('.lease-rest')?.getAnimations().length))
      .toBe(1);
    await page.evaluate(() => {
      document.body.dataset.loaded = 'once';
    });
    await kill(first);
    await expect.poll(leader).toBe('second');
    expect(await page.locator('body').getAttribute('data-loaded')).toBe('once');
    await page.getByRole('link', { name: 'billing' }).click();
    const rows = page.locator('.panel tbody tr');
    await expect.poll(() => rows.nth(0).textContent()).toMatch(/second.*lasts/);
    await expect.poll(() => rows.nth(1).textContent()).toMatch(/first.*(taken over|session ended)/);
    // The gap lasts from the end of the first leader's lease to the second leader's claim.
    await expect.poll(() => page.locator('.card .gap').getAttribute('d')).toMatch(/^M/);
    await expect.poll(() => page.locator('.panel .hole').getAttribute('title')).toMatch(/^no leader for \d/);
  });

  it('says that there is no leader while there is none, and shows the gap as soon as one leads again', async () => {
    const root = '/deserted';
    const only = await lead(`${root}/billing`, 'only');
    const { url } = await startDashboard({ root });
    const page = await open(url);
    await expect.poll(() => page.title()).toBe('1 election · all led – Conclave');
    await kill(only);
    await expect.poll(() => page.title()).toBe('✕ no leader – billing');
    expect(await page.locator('header.top').getAttribute('data-tone')).toBe('alarm');
    await lead(`${root}/billing`, 'next');
    await expect.poll(() => page.title()).toBe('1 election · all led – Conclave');
    await expect.poll(() => page.locator('.card .leader').textContent()).toBe('next');
    await expect.poll(() => page.locator('.card .gap').getAttribute('d')).toMatch(/^M/);
    await page.getByRole('link', { name: 'billing' }).click();
    await expect.poll(() => page.locator('.panel .hole').getAttribute('title')).toMatch(/^no leader for \d/);
    expect(await page.locator('.panel tbody tr').nth(1).textContent()).toMatch(/only.*session ended/);
  });

  it('connects again when the server was restarted, and shows what is there then', async () => {
    const root = '/restarted';
    const first = await lead(`${root}/billing`, 'first');
    const { url, start, stop } = await startDashboard({ root });
    const page = await open(url, { expected: /ERR_|50\d/ });
    const leader = () => page.locator('.card .leader').textContent();
    await expect.poll(leader).toBe('first');
    await stop();
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toMatch(/^No connection to the dashboard – showing the state of \d\d:\d\d:\d\d/);
    expect(await page.title()).toMatch(/^\? /);
    first.signal('SIGTERM');
    await first.exit();
    await lead(`${root}/billing`, 'second');
    expect(await leader()).toBe('first');
    await start();
    await expect.poll(leader).toBe('second');
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('is live behind a proxy that rewrites paths, and a visitor that may act hands a term over there', async () => {
    const root = '/proxied';
    await lead(`${root}/a b/billing`, 'first');
    campaign(`${root}/a b/billing`, 'second');
    const { port } = await startDashboard({ root, authorize: () => 'act' });
    const url = await startRewritingProxy(port, '/ops/conclave');
    const path = `${root}/a b/billing`;
    const page = await open(url + hashOf({ open: { kind: 'election', path }, query: '' }));
    await page.getByRole('button', { name: 'Hand over…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Hand over' }).click();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await expect.poll(() => page.locator('.card .leader').textContent()).toBe('second');
  });
});

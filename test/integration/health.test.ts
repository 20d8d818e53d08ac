import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { type HealthSource, healthHandler } from '../../src/cluster/supervisor/health-handler.js';
import { connectString, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { until } from '../support/waiting.mjs';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operations/stopping-and-health.md'), 'utf8');
const EXAMPLE = /^```js\n(.*?)^```$/ms.exec(PAGE)?.[1] ?? '';

/** Runs the example of docs/operations/stopping-and-health.md, on any free port. */
async function serve(supervisor: HealthSource): Promise<number> {
  const code = EXAMPLE.replaceAll(/^import .*\n/gm, '').replace('8080', '0, "127.0.0.1"');
  const servers: Server[] = [];
  const create = (...args: Parameters<typeof createServer>) => {
    const server = createServer(...args);
    servers.push(server);
    return server;
  };
  new Function('createServer', 'healthHandler', 'supervisor', code)(create, healthHandler, supervisor);
  const [server] = servers as [Server];
  onTestFinished(() => void server.close());
  if (!server.listening) await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function ask(port: number, path: string) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: answer.status, body: await answer.json() };
}

function supervise(path: string, id: string): ElectionSupervisor {
  const supervisor = new ElectionSupervisor({ connect: connectString(), path, id });
  onTestFinished(() => supervisor.stop());
  return supervisor;
}

describe('health checks over HTTP, as the documentation has them', () => {
  it('tell the leader from a candidate that waits, which is ready all the same', async () => {
    const path = uniquePath('health');
    const [first, second] = [supervise(path, 'one'), supervise(path, 'two')];
    const ports = [await serve(first), await serve(second)] as const;
    expect(await ask(ports[0], '/livez')).toMatchObject({ status: 503, body: { reasons: ['not started'] } });
    await eventAfter(first, 'elected', () => first.start());
    await second.start();
    const token = String(first.term?.token);
    expect(await ask(ports[0], '/any/prefix/leader')).toMatchObject({
      status: 200,
      body: { leading: true, id: 'one', term: 1, token, remainingMs: expect.any(Number) },
    });
    expect(await ask(ports[1], '/leader')).toEqual({ status: 503, body: { leading: false, id: 'two' } });
    for (const port of ports)
      expect(await ask(port, '/readyz')).toMatchObject({ status: 200, body: { ready: true, reasons: [] } });
    await first.stop();
    await until(() => second.isLeader, 'the second leader');
    expect(await ask(ports[0], '/readyz')).toMatchObject({ status: 503, body: { reasons: ['stopped'] } });
    expect((await ask(ports[1], '/leader')).status).toBe(200);
  });

  it.each([
    ['TRACE', '/livez'],
    ['OPTIONS', '*'],
    ['GET', '//['],
  ])('survive %s %s', async (method, path) => {
    const port = await serve(supervise(uniquePath('health'), 'one'));
    const sent = request({ host: '127.0.0.1', port, method, path, agent: false }).end();
    const [answer] = await once(sent, 'response');
    answer.resume();
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect(answer.statusCode).toBeLessThan(500);
    expect((await ask(port, '/livez')).status).toBe(503);
  });
});

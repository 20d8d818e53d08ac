import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readProcesses } from '../../../src/cluster/run-command/command-processes.js';
import { LeaderElector } from '../../../src/election/leader-elector.js';
import type { Term } from '../../../src/election/term/term.js';
import { PostgresFence } from '../../../src/fence/postgres-fence.js';
import { runs } from '../../../tools/environment.mjs';
import { usePostgres } from '../../../tools/postgres/server.mjs';
import { PROGRAM } from '../../support/conclave/running-command.js';
import { GUIDES, RunningGuide } from '../../support/conclave/running-guide.js';
import { openSession, uniquePath } from '../../support/conclave/sessions.js';
import { nextEvent } from '../../support/events.js';
import { until } from '../../support/waiting.mjs';

const ROOT = join(GUIDES, '../..');
const NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child'];
const mayMakeNamespaces = runs(NAMESPACE[0] as string, ...NAMESPACE.slice(1), 'true');

/** The descendants of a process, the nearest first. */
function descendantsOf(pid: number): number[] {
  const all = readProcesses();
  const children = all.filter(({ parent, isDead }) => parent === pid && !isDead).map(({ pid }) => pid);
  return [...children, ...children.flatMap(descendantsOf)];
}

describe('the service of the guides', () => {
  it('is ready in every replica, leads in one, and hands over at SIGTERM', async () => {
    const options = { path: uniquePath('guide'), env: { CONCLAVE_AUTH: 'digest:guide:secret' } };
    const leader = await RunningGuide.start('service/service.mjs', options);
    await leader.printed(/^tick: term 1, token \d+$/m);
    const follower = await RunningGuide.start('service/service.mjs', options);
    await until(async () => (await follower.status('/readyz')) === 200, 'the readiness of the follower');
    expect(await leader.status('/readyz')).toBe(200);
    expect(await leader.status('/livez')).toBe(200);
    expect(await leader.status('/metrics')).toBe(200);
    expect(leader.output).not.toContain('any client that can reach the servers');
    expect(follower.output).not.toContain('tick');
    expect(await leader.stop()).toBe(0);
    await follower.printed(/^tick: term 2, token \d+$/m);
  });

  it('is live and not ready while there is no server, and ends at SIGTERM then as well', async () => {
    const service = await RunningGuide.start('service/service.mjs', {
      path: '/nowhere',
      env: { ZOOKEEPER: '127.0.0.1:1' },
    });
    await until(async () => (await service.status('/livez')) === 200, 'the liveness of the service');
    expect(await service.status('/readyz')).toBe(503);
    expect(await service.stop()).toBe(0);
  });

  it.skipIf(!mayMakeNamespaces)('as process 1 of a container ends in good order at SIGTERM', async () => {
    const path = uniquePath('guide');
    const leader = await RunningGuide.start('service/service.mjs', { path, launcher: NAMESPACE });
    await leader.printed(/^tick: term 1/m);
    const follower = await RunningGuide.start('service/service.mjs', { path });
    await until(async () => (await follower.status('/readyz')) === 200, 'the readiness of the follower');
    const [first] = descendantsOf(leader.pid);
    expect(readFileSync(`/proc/${first}/status`, 'utf8')).toMatch(/^NSpid:\s+\d+\s+1$/m);
    process.kill(first as number, 'SIGTERM');
    expect(await leader.exit()).toBe(0);
    await follower.printed(/^tick: term 2/m);
  });

  it.skipIf(!mayMakeNamespaces)(
    'behind conclave guard as process 1 of a container is followed at once when it was killed',
    async () => {
      const path = uniquePath('guide');
      const launcher = [...NAMESPACE, process.execPath, PROGRAM, 'guard', '--'];
      const leader = await RunningGuide.start('service/service.mjs', { path, launcher });
      await leader.printed(/^tick: term 1/m);
      // It waits for an hour unless the term before was given back.
      const next = new LeaderElector(await openSession(), path, { takeoverDelayMs: 3_600_000 });
      onTestFinished(() => next.stop());
      const elected = nextEvent<[Term]>(next, 'elected');
      await next.start();
      const [first, service] = descendantsOf(leader.pid);
      expect(readFileSync(`/proc/${first}/status`, 'utf8')).toMatch(/^NSpid:\s+\d+\s+1$/m);
      process.kill(service as number, 'SIGKILL');
      expect((await elected)[0].number).toBe(2);
      expect(await leader.exit()).toBe(137);
    },
  );

  it.skipIf(!mayMakeNamespaces)(
    'behind conclave guard as process 1 of a container ends in good order at SIGTERM',
    async () => {
      const path = uniquePath('guide');
      const launcher = [...NAMESPACE, process.execPath, PROGRAM, 'guard', '--'];
      const leader = await RunningGuide.start('service/service.mjs', { path, launcher });
      await leader.printed(/^tick: term 1/m);
      process.kill(descendantsOf(leader.pid)[0] as number, 'SIGTERM');
      expect(await leader.exit()).toBe(0);
      const follower = await RunningGuide.start('service/service.mjs', { path });
      await follower.printed(/^tick: term 2/m);
    },
  );

  it('runs from a bundle', async () => {
    // In a folder below the project, because a bundle that logs looks for pino beside itself.
    const folder = mkdtempSync(join(ROOT, 'node_modules/.cache-guide-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const outfile = join(folder, 'service.bundle.mjs');
    await build({
      entryPoints: [join(GUIDES, 'service/service.mjs')],
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile,
    });
    const service = await RunningGuide.start(outfile, { path: uniquePath('guide') });
    await service.printed(/^tick: term 1/m);
    expect(await service.stop()).toBe(0);
  });
});

it('the cluster of the guides has one leader, replaces one that is killed and all for a new version, and stops the leader last', async () => {
  const service = await RunningGuide.start('node-cluster/main.mjs', { path: uniquePath('guide') });
  const leads = (term: number) => service.printed(new RegExp(`^process (\\d+) leads term ${term}$`, 'm'));
  const waiting = () => service.output.match(/: waiting$/gm)?.length ?? 0;
  const [, first] = await leads(1);
  await until(() => waiting() === 2, 'two followers');
  process.kill(Number(first), 'SIGKILL');
  const [, second] = await leads(2);
  expect(second).not.toBe(first);
  await until(() => waiting() === 3, 'the worker in its place');
  const before = descendantsOf(service.pid);
  service.process.kill('SIGHUP');
  await leads(3);
  await until(() => {
    const now = descendantsOf(service.pid);
    return now.length === 3 && now.every((pid) => !before.includes(pid));
  }, 'three new workers');
  expect(await service.stop()).toBe(0);
  expect(service.output).not.toMatch(/leads term 4/);
});

it.each(['jobs.mjs', 'cron.mjs', 'node-schedule.mjs'])(
  'the jobs of the guides in cron/%s run in one of two replicas, each firing once',
  async (program) => {
    const path = uniquePath('guide');
    const options = { path, env: { SCHEDULE: '* * * * * *' } };
    const replicas = [
      await RunningGuide.start(`cron/${program}`, options),
      await RunningGuide.start(`cron/${program}`, options),
    ];
    const firings = () =>
      replicas.flatMap(({ output }) => [...output.matchAll(/^backup of (\S+) with token \d+$/gm)]);
    await until(() => firings().length >= 2, 'two firings');
    const [leader, follower] = replicas.toSorted((a, b) => b.output.length - a.output.length);
    expect(follower?.output).not.toContain('backup');
    expect(await leader?.stop()).toBe(0);
    await follower?.printed(/^backup of/m);
    const times = firings().map(([, time]) => time);
    expect(new Set(times).size).toBe(times.length);
  },
);

it("the job of the guides on croner's schedule writes one row per firing, though its leader is killed", async () => {
  const postgres = await usePostgres();
  onTestFinished(postgres.stop);
  const schema = `conclave_test_${randomUUID().replaceAll('-', '')}`;
  const url = new URL(postgres.connectionString);
  url.searchParams.set('options', `-c search_path=${schema}`);
  const pool = new pg.Pool({ connectionString: url.href });
  onTestFinished(async () => {
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await pool.end();
  });
  await pool.query(`CREATE SCHEMA ${schema}`);
  await pool.query('CREATE TABLE reports (hour timestamptz)');
  await pool.query(new PostgresFence(pool, 'reports').schema);
  const seconds = async () => {
    const { rows } = await pool.query('SELECT hour FROM reports ORDER BY hour');
    return rows.map(({ hour }) => hour.getTime() / 1000);
  };
  const env = { SCHEDULE: '* * * * * *', POSTGRES: url.href };
  const options = { path: uniquePath('guide'), env };
  const leader = await RunningGuide.start('cron/croner.mjs', options);
  await until(async () => (await seconds()).length > 0, 'the first row');
  const follower = await RunningGuide.start('cron/croner.mjs', options);
  leader.process.kill('SIGKILL');
  await leader.exit();
  const before = (await seconds()).length;
  await until(async () => (await seconds()).length > before + 2, 'the rows of the next leader');
  expect(await follower.stop()).toBe(0);
  const rows = await seconds();
  expect(new Set(rows).size).toBe(rows.length);
});

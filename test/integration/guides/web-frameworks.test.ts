import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../../src/cluster/supervisor/election-supervisor.js';
import { GUIDES, RunningGuide } from '../../support/conclave/running-guide.js';
import { connectString, uniquePath } from '../../support/conclave/sessions.js';
import { nextEvent } from '../../support/events.js';
import { deferred, until } from '../../support/waiting.mjs';

const POST = { method: 'POST' };

/** Starts two replicas: one that leads, and one that waits. */
async function startTwo(file: string, path: string): Promise<[RunningGuide, RunningGuide]> {
  const leader = await RunningGuide.start(file, { path });
  await until(async () => (await leader.status('/readyz')) === 200, 'the readiness of the leader');
  const follower = await RunningGuide.start(file, { path });
  await until(async () => (await follower.status('/readyz')) === 200, 'the readiness of the follower');
  return [leader, follower];
}

describe.each(['express', 'fastify'])('%s', (framework) => {
  it('has the leader handle the request, wherever it arrives, and the next leader after that', async () => {
    const [leader, follower] = await startTwo(`${framework}/main.mjs`, uniquePath('guide'));
    await until(async () => (await leader.status('/items/one', POST)) === 201, 'a leader');
    const redirected = await fetch(`${follower.url}/items/two`, { ...POST, redirect: 'manual' });
    expect(redirected.status).toBe(307);
    expect(redirected.headers.get('location')).toBe(`${leader.url}/items/two`);
    expect(await follower.status('/items/two', { ...POST, redirect: 'follow' })).toBe(201);
    await leader.printed(/^stored two with token \d+$/m);
    expect(await leader.stop()).toBe(0);
    await until(async () => (await follower.status('/items/three', POST)) === 201, 'the next leader');
    const tokenOf = ({ output }: RunningGuide) => BigInt(/with token (\d+)/.exec(output)?.[1] ?? 0);
    expect(tokenOf(follower)).toBeGreaterThan(tokenOf(leader));
  });

  it('answers a request under way before another replica leads', async () => {
    const { createApp } = await import(`../../../examples/guides/${framework}/app.mjs`);
    const session = { sessionTimeoutMs: 15_000 }; // On a busy machine a leader may lose a lease of 2 s.
    const options = { connect: connectString(), path: uniquePath('guide'), session };
    const [leader, follower] = [new ElectionSupervisor(options), new ElectionSupervisor(options)];
    for (const supervisor of [leader, follower]) onTestFinished(() => supervisor.stop());
    await leader.start();
    await until(() => leader.isLeader, 'a leader');
    await follower.start();
    const steps: string[] = [];
    const begun = deferred();
    const write = deferred();
    const app = createApp(leader, async (item: string) => {
      begun.resolve();
      await write.promise;
      steps.push(`stored ${item}`);
    });
    const server = framework === 'express' ? app.listen(0) : app.server;
    if (framework === 'fastify') await app.listen({ port: 0 });
    onTestFinished(() => {
      write.resolve();
      server.closeAllConnections(); // If a client keeps a connection, Fastify keeps it for longer than a minute.
      server.close();
    });
    const response = fetch(`http://127.0.0.1:${server.address().port}/items/one`, POST);
    const early = response.then(({ status }) => Promise.reject(new Error(`answered early: ${status}`)));
    await Promise.race([begun.promise, early]);
    early.catch(() => undefined);
    const demoted = nextEvent(leader, 'demoted');
    const elected = nextEvent(follower, 'elected');
    follower.once('elected', () => void steps.push('elected'));
    const stopped = leader.stop();
    await demoted;
    // If the leader had handed the term over, the record would name the follower by now.
    expect((await follower.leader())?.id).toBe(leader.id);
    write.resolve();
    expect((await response).status).toBe(201);
    await Promise.all([stopped, elected]);
    expect(steps).toEqual(['stored one', 'elected']);
  });

  it('stops in good order while a browser keeps a connection without a request', async () => {
    const replica = await RunningGuide.start(`${framework}/main.mjs`, { path: uniquePath('guide') });
    await until(async () => (await replica.status('/readyz')) === 200, 'the readiness of the replica');
    const tab = connect(Number(new URL(replica.url).port), '127.0.0.1');
    onTestFinished(() => void tab.destroy());
    await once(tab, 'connect');
    expect(await replica.stop()).toBe(0);
  });

  it('answers 503 without a leader, and stays live without a server', async () => {
    const replica = await RunningGuide.start(`${framework}/main.mjs`, {
      path: '/nowhere',
      env: { ZOOKEEPER: '127.0.0.1:1' },
    });
    await until(async () => (await replica.status('/livez')) === 200, 'the liveness of the replica');
    expect(await replica.status('/readyz')).toBe(503);
    expect(await replica.status('/items/one', POST)).toBe(503);
  });
});

/** Compiles the programs for NestJS. `npm run types` checks their types. */
async function compileNest(): Promise<string> {
  const source = join(GUIDES, 'nestjs');
  const outdir = join(source, 'dist'); // `tsc` would write the output here, too, and git ignores it.
  const options = { format: 'esm', target: 'node20', tsconfig: join(source, 'tsconfig.json') } as const;
  await build({ entryPoints: [join(source, '*.ts')], outdir, ...options });
  return outdir;
}

describe('NestJS', () => {
  it('runs the method of the leader only, and stops the supervisor with the application', async () => {
    const program = join(await compileNest(), 'main.js');
    const [leader, follower] = await startTwo(program, uniquePath('guide'));
    const write = async ({ url }: RunningGuide) => {
      const response = await fetch(`${url}/reports/may`, POST);
      return [response.status, await response.json()];
    };
    await until(async () => (await write(leader))[0] === 201, 'an answer');
    expect(await write(leader)).toEqual([201, { report: 'the report may' }]);
    expect(await write(follower)).toEqual([201, { report: null }]);
    expect(await leader.stop()).toBe('SIGTERM'); // Nest ends the process by the signal that it has handled.
    await until(
      async () => JSON.stringify(await write(follower)).includes('the report may'),
      'the next leader',
    );
  });
});

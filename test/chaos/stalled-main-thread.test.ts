import { describe, expect, it } from 'vitest';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { severalLeases, startStalling, startWaiting } from '../support/conclave/stalling-process.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { connectStringOf } from '../support/servers/ensemble.js';
import { SILENT } from '../support/silent-logger.mjs';
import { onTestFinished } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const LEASE_MS = 500;
const PERMISSION_MODEL = ['--permission', '--experimental-permission'].find((flag) =>
  process.allowedNodeEnvironmentFlags.has(flag),
) as string;

describe('a leader whose main thread stands still for several leases', () => {
  it.each([
    ['lead', 'its own thread and another one see it held all the time'],
    ['lead with a watchdog', 'the watchdog lets it be'],
  ])('keeps its term (%s): %s, and no other candidate leads', async (what) => {
    const session = await openSession({ leaseMs: LEASE_MS });
    const process = startStalling(what);
    await process.said('blocks');
    const { terms } = await startWaiting(process.path, session);
    await severalLeases(session, process.path);
    expect(terms).toEqual([]);
    process.unblock();
    const { lines, code } = await process.ended;
    expect(lines).toEqual([
      'leads',
      'blocks',
      'was held all the time',
      'the thread has seen no end',
      'demoted: stopped',
      'closed',
    ]);
    expect(code).toBe(0);
    await until(() => terms.length === 1);
  });

  it('keeps its term also if its session has authenticated by SASL', async () => {
    const sasl = { username: 'worker', password: 'secret' };
    const users = { saslUsers: { worker: 'secret' }, requireAuth: ['sasl'] } as const;
    const server = await EmbeddedZooKeeper.start({ ...users, logger: SILENT });
    onTestFinished(() => server.stop());
    const process = startStalling('lead', {
      servers: server.connectString,
      session: { leaseMs: 1500, sasl },
    });
    await process.said('blocks');
    await severalLeases(await openSession({ sasl }, server.connectString), process.path);
    process.unblock();
    const { lines } = await process.ended;
    expect(lines).toContain('was held all the time');
    expect(lines).not.toContain('suspended');
  });

  it('loses it when maxStallMs is over: it is over in all threads of its process, and then another candidate leads', async () => {
    const session = await openSession({ leaseMs: LEASE_MS });
    const process = startStalling('lead', { session: { maxStallMs: 1000 } });
    await process.said('blocks');
    const { terms } = await startWaiting(process.path, session);
    await until(() => terms.length === 1);
    process.unblock();
    const { lines } = await process.ended;
    expect(lines.at(-1)).toBe('closed');
    // Either thread may be the first to find the lease over.
    expect(lines.slice(2, -1).sort()).toEqual([
      'demoted: lease-expired',
      'error: the work of term 1 was still running when its lease ended',
      'the thread has seen the end',
      expect.stringMatching(/^was not held \d+ of \d+ times$/),
    ]);
  });

  it('is ended by the watchdog when maxStallMs is over', async () => {
    const process = startStalling('lead silently, with a watchdog', { session: { maxStallMs: 1000 } });
    const { lines, signal, stderr } = await process.ended;
    expect(lines).toEqual(['leads', 'blocks']);
    expect(signal).toBe('SIGKILL');
    expect(stderr).toContain('blocked past the end of its lease');
  });

  it('is not followed before its work has settled, though its term has ended', async () => {
    const session = await openSession({ leaseMs: LEASE_MS });
    const process = startStalling('settle');
    await process.said('blocks');
    const { terms } = await startWaiting(process.path, session);
    await severalLeases(session, process.path);
    expect(terms).toEqual([]);
    process.unblock();
    await until(() => terms.length === 1);
    expect(process.lines).toContain('demoted: resigned');
  });

  it.each([
    ['an --import that throws', ['--import', preload('throw new Error("only for the main thread")')], {}],
    ['an --import that exits', ['--import', preload('process.exit(0)')], {}],
    ['a NODE_OPTIONS that throws', [], { NODE_OPTIONS: `--import ${preload('throw 1')}` }],
  ])('runs nothing of the application in its thread: %s', async (_, nodeOptions, env) => {
    const process = startStalling('hold nothing', { nodeOptions, env });
    await process.said('blocks');
    process.unblock();
    expect((await process.ended).lines).toEqual(['blocks', 'was held all the time', 'closed']);
  });

  it('is refused the option where Node may start no thread, and hears which flag allows it', async () => {
    const nodeOptions = [PERMISSION_MODEL, '--allow-fs-read=*'];
    const { stderr, code } = await startStalling('hold nothing', { nodeOptions }).ended;
    expect(stderr).toContain(
      'maxStallMs is 60000: expected left out, or a process that may start threads, by --allow-worker',
    );
    expect(code).toBe(1);
  });
});

describe('a process that loses its connection while its main thread stands still', () => {
  it('loses its term when its lease is over, in all of its threads: another candidate leads, and the main thread finds out when it goes on', async () => {
    const proxy = await startProxy();
    const process = startStalling('lead, and resume', { servers: proxy.connectString });
    await process.said('blocks');
    const taken = proxy.accepted; // More than one if the machine was too busy for the first one.
    const { terms } = await startWaiting(process.path, await openSession({ leaseMs: LEASE_MS }));
    proxy.dropConnections();
    await until(() => terms.length === 1);
    expect(terms[0]?.number).toBe(2);
    expect(proxy.accepted).toBe(taken); // The thread opens no other one.
    process.unblock();
    const { lines, stderr } = await process.ended;
    expect(stderr).toBe('');
    expect(lines.at(-1)).toBe('closed');
    expect(lines.slice(2, -1).sort()).toEqual([
      'demoted: lease-expired',
      'error: the work of term 1 was still running when its lease ended',
      'held: false',
      'resumed',
      'suspended',
      'the thread has seen the end',
      expect.stringMatching(/^was not held \d+ of \d+ times$/),
    ]);
  });

  it('keeps its term if the main thread goes on within the lease, and finds another way to the servers', async () => {
    const proxies = [await startProxy(), await startProxy()];
    const options = { servers: connectStringOf(proxies), session: { leaseMs: 5500 } };
    const process = startStalling('lead, and resume', options);
    await process.said('blocks');
    const { terms } = await startWaiting(process.path, await openSession());
    proxies.find((proxy) => proxy.inUse)?.cut();
    process.unblock();
    const { lines } = await process.ended;
    expect(lines).toEqual([
      'leads',
      'blocks',
      'was held all the time',
      'suspended',
      'resumed',
      'held: true',
      'the thread has seen no end',
      'demoted: stopped',
      'closed',
    ]);
    await until(() => terms.length === 1);
    expect(terms[0]?.number).toBe(2);
  });

  it('loses its session, too, if it stands still for so long, and finds out by its own handshake', async () => {
    const proxy = await startProxy();
    const session = { sessionTimeoutMs: 2000, leaseMs: LEASE_MS };
    const process = startStalling('lead', { servers: proxy.connectString, session });
    await process.said('blocks');
    const other = await openSession();
    const { terms } = await startWaiting(process.path, other);
    proxy.dropConnections();
    await until(() => terms.length === 1);
    await until(async () => (await other.exists(`${process.path}-session`)) === undefined);
    process.unblock();
    const { lines, stderr, code } = await process.ended;
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(lines).toContain('expired');
    expect(lines).not.toContain('resumed');
    expect(lines.filter((line) => line.startsWith('demoted'))).toEqual(['demoted: lease-expired']);
  });
});

describe('a process that loses the thread of its connections', () => {
  it('has another thread take the session, and keeps its term', async () => {
    const process = startStalling('lead, and lose the thread', { session: { leaseMs: 4000 } });
    await process.said('blocks');
    const session = await openSession();
    await severalLeases(session, process.path, 8);
    process.unblock();
    const { lines, stderr, code } = await process.ended;
    expect(lines).toEqual([
      'leads',
      'suspended',
      'resumed',
      'held: true',
      'blocks',
      'was held all the time',
      'the thread has seen no end',
      'demoted: stopped',
      'closed',
    ]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });
});

describe('what else a process keeps while its main thread stands still', () => {
  it('is all of its shards, though another member joins the group meanwhile', async () => {
    const process = startStalling('own shards');
    await process.said('blocks');
    const owned: string[] = [];
    const other = new ShardSupervisor({
      connect: connectString(),
      path: process.path,
      shards: 3,
      session: { leaseMs: LEASE_MS },
      run: async (shard) => {
        owned.push(shard.id);
        await shard.ended;
      },
    });
    onTestFinished(() => other.stop());
    await other.start();
    // It may claim a shard when the lease of the former owner is over.
    await new Promise((resolve) => setTimeout(resolve, 4 * LEASE_MS));
    expect(owned).toEqual([]);
    process.unblock();
    expect((await process.ended).lines).toEqual(['blocks', 'was held all the time', 'closed']);
    await until(() => owned.length === 3);
  });

  it('is its session, by pings, and its place in a queue; but a term that it is given is taken over after the lease', async () => {
    const session = await openSession({ leaseMs: LEASE_MS });
    const path = uniquePath('stall');
    const first = await startWaiting(path, session);
    await until(() => first.terms.length === 1);
    const process = startStalling('wait in the queue', { path });
    await process.said('blocks');
    const third = await startWaiting(path, await openSession({ leaseMs: LEASE_MS }));
    await first.elector.stop(); // The term goes to the candidate that stands still.
    await until(() => third.terms.length === 1);
    expect(third.terms[0]?.number).toBe(3);
    process.unblock();
    const { lines } = await process.ended;
    expect(lines).not.toContain('expired');
    expect(lines).not.toContain('elected');
  });
});

/** The address of a module that does this in every thread but the main one. */
function preload(code: string): string {
  return `data:text/javascript,${encodeURIComponent(`import { isMainThread } from 'node:worker_threads'; if (!isMainThread) { ${code} }`)}`;
}

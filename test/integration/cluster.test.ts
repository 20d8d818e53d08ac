import { type ChildProcess, fork, spawn } from 'node:child_process';
import cluster from 'node:cluster';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CleanupReport } from '../../src/cluster/dead-children/session-guardian.js';
import type { ClusterOptions } from '../../src/cluster/workers/cluster-options.js';
import { type ClusterSupervisor, superviseCluster } from '../../src/cluster/workers/cluster-supervisor.js';
import type { WorkerExit } from '../../src/cluster/workers/worker-slot.js';
import { InvalidStateError } from '../../src/errors.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent, recordEvents } from '../support/events.js';
import { endsWithTest } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const FIXTURE = join(import.meta.dirname, '../fixtures/cluster-worker.mjs');

/** Starts workers that join the election at `path`. `wrong` has the fault of each worker, by the worker's number. */
function startWorkers(
  path: string,
  options: Partial<ClusterOptions> & { wrong?: readonly string[] } = {},
): ClusterSupervisor {
  const { wrong = [], ...rest } = options;
  const workers = superviseCluster({
    connect: connectString(),
    workers: 3,
    fork: (slot) => fork(FIXTURE, [connectString(), path, wrong[slot] ?? '']),
    ...rest,
  });
  onTestFinished(() => workers.stop());
  return workers;
}

const roles = (workers: ClusterSupervisor) => workers.workers.map(({ role }) => role).sort();
const allStand = (workers: ClusterSupervisor) =>
  until(() => String(roles(workers)) === 'leading,waiting,waiting', 'a leader and two that wait');
const leaderOf = (workers: ClusterSupervisor) => workers.workers.find(({ role }) => role === 'leading');

function exitsOf(workers: ClusterSupervisor): WorkerExit[] {
  const exits: WorkerExit[] = [];
  workers.on('exited', (exit) => void exits.push(exit));
  return exits;
}

describe('a cluster', () => {
  it('has one leader, and another one at once when that is killed, which is started again', async () => {
    const workers = startWorkers(uniquePath('cluster'));
    await allStand(workers);
    const killed = leaderOf(workers);
    const cleanedUp = nextEvent<[CleanupReport]>(workers.guardian, 'cleanedUp');
    const restarting = nextEvent(workers, 'restarting');
    process.kill(killed?.pid as number, 'SIGKILL');
    expect((await cleanedUp)[0]).toMatchObject({ pid: killed?.pid, sessions: [{ terms: 1, clean: true }] });
    expect((await restarting)[0]).toMatchObject({ slot: killed?.slot, attempt: 1 });
    await allStand(workers);
    expect(leaderOf(workers)?.slot).not.toBe(killed?.slot);
  }, 20_000);

  it('ends its leader last, when all others have ended, and leaves no candidate in the queue', async () => {
    const path = uniquePath('cluster');
    const workers = startWorkers(path);
    await allStand(workers);
    const leader = leaderOf(workers);
    const exits = exitsOf(workers);
    await eventAfter(workers, 'stopped', () => workers.stop());
    expect(exits).toHaveLength(3);
    const { slot, pid } = leader as NonNullable<typeof leader>;
    expect(exits.at(-1)).toEqual({ slot, pid, code: 0, signal: null, expected: true });
    expect(workers.workers).toEqual([]);
    expect(await (await openSession()).getChildren(path)).toEqual([]);
    await workers.stop();
    await expect(workers.replaceWorkers()).rejects.toBeInstanceOf(InvalidStateError);
  }, 20_000);

  it('replaces its workers one after the other, the leader last, so that there is one handover', async () => {
    const workers = startWorkers(uniquePath('cluster'));
    await allStand(workers);
    const leader = leaderOf(workers);
    const before = workers.workers.map(({ pid }) => pid);
    const exits = exitsOf(workers);
    const seen = recordEvents(workers, 'exited', 'spawned');
    const leaders = new Set<number | undefined>();
    workers.on('roleChanged', ({ pid, role }) => void (role === 'leading' && leaders.add(pid)));
    const replaced = workers.replaceWorkers();
    expect(workers.replaceWorkers()).toBe(replaced);
    await replaced;
    expect(seen).toEqual(['exited', 'spawned', 'exited', 'spawned', 'exited', 'spawned']);
    expect(exits.at(-1)?.slot).toBe(leader?.slot);
    expect(exits.every(({ code, expected }) => code === 0 && expected)).toBe(true);
    expect(workers.workers.filter(({ pid }) => before.includes(pid))).toEqual([]);
    await allStand(workers);
    expect(leaders.size).toBe(1);
  }, 30_000);

  it('replaces no further worker when a new one finds no place', async () => {
    const path = uniquePath('cluster');
    const wrong: string[] = [];
    const workers = startWorkers(path, { wrong, readyTimeoutMs: 1000 });
    await allStand(workers);
    wrong.push('broken', 'broken', 'broken');
    const before = workers.workers.map(({ pid }) => pid);
    await expect(workers.replaceWorkers()).rejects.toThrow('no place in an election after 1000 ms');
    expect(workers.workers.filter(({ pid }) => before.includes(pid))).toHaveLength(2);
  }, 20_000);

  it('goes on trying when a worker can not even be started', async () => {
    let tries = 0;
    const workers = startWorkers(uniquePath('cluster'), {
      workers: 1,
      restart: { minTimeout: 1 },
      fork: () => {
        if (++tries < 3) throw new Error('no more processes');
        return fork(FIXTURE, { execPath: '/nowhere/node' });
      },
    });
    const messages: string[] = [];
    workers.on('error', ({ message }) => void messages.push(message));
    await until(() => tries > 4);
    expect(messages.slice(0, 2)).toEqual(['no more processes', 'no more processes']);
    // If the executable is missing, `error` reports it, and there is no exit.
    expect(messages[2]).toContain('/nowhere/node');
  });

  it('outlives a worker of node:cluster that can not be started', async () => {
    cluster.setupPrimary({ exec: FIXTURE, cwd: '/nowhere' } as object);
    onTestFinished(() => cluster.setupPrimary({ cwd: undefined } as object));
    const workers = endsWithTest(superviseCluster({ connect: connectString(), workers: 1 }));
    const restarting = nextEvent(workers, 'restarting');
    expect((await nextEvent<[Error]>(workers, 'error'))[0].message).toContain('ENOENT');
    await restarting;
  });

  it('refuses workers that it could not look after, and lets none of them live on', async () => {
    const started: ChildProcess[] = [];
    const workers = startWorkers(uniquePath('cluster'), {
      workers: 1,
      restart: { retries: 0 },
      fork: () => {
        const child = spawn('sleep', ['60']);
        started.push(child);
        return child;
      },
    });
    const [error] = await nextEvent<[Error]>(workers, 'error');
    expect(error).toMatchObject({ option: 'fork' });
    await until(() => started[0]?.signalCode === 'SIGKILL');
  });

  it('starts none after a worker that ends by itself while it is being stopped', async () => {
    const workers = startWorkers(uniquePath('cluster'), { workers: 2, wrong: ['deaf', 'deaf'] });
    await until(() => String(roles(workers)) === 'leading,waiting');
    const [leader, follower] = ['leading', 'waiting'].map((role) =>
      workers.workers.find((each) => each.role === role),
    );
    const exits = exitsOf(workers);
    const spawned = recordEvents(workers, 'spawned', 'restarting');
    const stopped = workers.stop(); // This waits for the follower, which ignores the stop.
    process.kill(leader?.pid as number, 'SIGKILL');
    await until(() => exits.length === 1);
    process.kill(follower?.pid as number, 'SIGKILL');
    await stopped;
    expect(exits).toHaveLength(2);
    expect(spawned).toEqual([]);
  }, 20_000);

  it('replaces a worker that it had given up', async () => {
    const wrong = ['broken'];
    const workers = startWorkers(uniquePath('cluster'), { workers: 2, wrong, restart: { retries: 0 } });
    await nextEvent(workers, 'error');
    await until(() => String(roles(workers)) === 'leading');
    wrong[0] = '';
    await workers.replaceWorkers();
    await until(() => String(roles(workers)) === 'leading,waiting');
  }, 20_000);

  it('lets the leader end in good order when the whole process group was signalled, and then it', async () => {
    const workers = startWorkers(uniquePath('cluster'), { workers: 2, wrong: ['slow', 'slow'] });
    await until(() => String(roles(workers)) === 'leading,waiting');
    const exits = exitsOf(workers);
    const leader = leaderOf(workers);
    process.kill(leader?.pid as number, 'SIGTERM');
    // So much later that the leader doesn't take the second signal for an echo of the first.
    await new Promise((resolve) => setTimeout(resolve, 300));
    await workers.stop();
    expect(exits.map(({ code }) => code)).toEqual([0, 0]);
  }, 20_000);

  it('of node:cluster forks its workers by itself', async () => {
    cluster.setupPrimary({ exec: FIXTURE, args: [connectString(), uniquePath('cluster')] });
    const workers = endsWithTest(superviseCluster({ connect: connectString(), workers: 2 }));
    await until(() => String(roles(workers)) === 'leading,waiting');
    expect(Object.values(cluster.workers ?? {})).toHaveLength(2);
    const exits = exitsOf(workers);
    await workers.stop();
    expect(exits.map(({ code }) => code)).toEqual([0, 0]);
  }, 20_000);

  it.each([
    [undefined, 'cluster'],
    [{ workers: 2 }, 'connect'],
    [{ connect: 'zk', workers: 0 }, 'workers'],
    [{ connect: 'zk', workers: 1.5 }, 'workers'],
    [{ connect: 'zk' }, 'workers'],
    [{ connect: 'zk', workers: 2, fork: 'worker.js' }, 'fork'],
    [{ connect: 'zk', workers: 2, restart: { retries: -1 } }, 'restart.retries'],
    [{ connect: 'zk', workers: 2, stopSignal: 15 }, 'stopSignal'],
    [{ connect: 'zk', workers: 2, stopSignal: 'SIGSTOP' }, 'stopSignal'],
    [{ connect: 'zk', workers: 2, stopSignal: 'SIGFOO' }, 'stopSignal'],
    [{ connect: 'zk', workers: 2, stopTimeoutMs: 0 }, 'stopTimeoutMs'],
    [{ connect: 'zk', workers: 2, size: 2 }, 'cluster.size'],
  ])('refuses %j for options', (options, option) => {
    expect(() => superviseCluster(options as never)).toThrow(expect.objectContaining({ option }));
  });
});

import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CleanupReport } from '../../src/cluster/dead-children/session-guardian.js';
import { type ClusterSupervisor, superviseCluster } from '../../src/cluster/workers/cluster-supervisor.js';
import { metrics } from '../../src/metrics/index.js';
import { connectString, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { ask, lookUp, parseText } from '../support/metrics.js';
import { until } from '../support/waiting.mjs';

const FIXTURE = join(import.meta.dirname, '../fixtures/metered-worker.mjs');

function startWorkers(wrong: readonly string[] = [], workers = 3) {
  const path = uniquePath('metrics');
  const children = new Map<number, ChildProcess>();
  const cluster = superviseCluster({
    connect: connectString(),
    workers,
    fork: (slot) => {
      const child = fork(FIXTURE, [connectString(), path, wrong[slot] ?? '']);
      children.set(slot, child);
      return child;
    },
  });
  onTestFinished(() => cluster.stop());
  const measured = metrics(cluster);
  onTestFinished(() => measured.close());
  return { path, cluster, measured, children };
}

const leaderOf = (cluster: ClusterSupervisor) => cluster.workers.find(({ role }) => role === 'leading');
const allStand = (cluster: ClusterSupervisor, waiting: number) =>
  until(
    () =>
      leaderOf(cluster) !== undefined &&
      cluster.workers.filter(({ role }) => role === 'waiting').length === waiting,
    'a leader and others that wait',
  );

describe('the metrics of workers', () => {
  it('are told by their parent, each with the slot of its worker, beside its own', async () => {
    const { path, cluster, measured, children } = startWorkers();
    await allStand(cluster, 2);
    const leader = leaderOf(cluster);
    const all = parseText(await measured.text());
    const now = lookUp(all);
    for (const slot of [0, 1, 2])
      expect(now('conclave_leader', { election: path, worker: String(slot) })).toBe(
        slot === leader?.slot ? 1 : 0,
      );
    expect(now('conclave_queue_length')).toBe(3);
    expect([now('conclave_workers'), now('conclave_workers_unanswered')]).toEqual([3, 0]);
    expect(now('conclave_guarded_processes')).toBe(3);
    for (const child of children.values()) expect(child.listenerCount('message')).toBe(1); // The guardian's own listener.

    const cleanedUp = nextEvent<[CleanupReport]>(cluster.guardian, 'cleanedUp');
    const restarted = nextEvent(cluster, 'spawned');
    process.kill(leader?.pid as number, 'SIGKILL');
    await Promise.all([cleanedUp, restarted]);
    await allStand(cluster, 2);
    const later = await ask(measured);
    expect(later('conclave_session_cleanups_total', { clean: 'true' })).toBe(1);
    expect(later('conclave_worker_exits_total', { expected: 'false' })).toBe(1);
    expect(later('conclave_worker_restarts_total')).toBe(1);
    expect(later('conclave_workers_unanswered')).toBe(0);
    expect(later('conclave_transitions_total', { to: 'elected', reason: 'handover' })).toBe(1);
  }, 30_000);

  it('are missing where a worker does not answer in time, which is counted and holds up no others', async () => {
    const { cluster, measured, children } = startWorkers(['', 'silent'], 2);
    await allStand(cluster, 1);
    const now = await ask(measured);
    expect([now('conclave_workers'), now('conclave_workers_unanswered')]).toEqual([2, 1]);
    expect(now('conclave_wedged')).toBe(0);
    expect(now('conclave_wedged', { worker: '0' })).toBe(0);
    // A worker with nothing left to measure ends. The listener for its parent's messages doesn't keep it alive.
    const exited = nextEvent(cluster, 'exited');
    children.get(0)?.send('stop without an exit');
    children.get(0)?.disconnect();
    expect((await exited)[0]).toMatchObject({ slot: 0, code: 0 });
  }, 30_000);
});

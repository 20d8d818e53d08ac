import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CleanupReport, SessionGuardian } from '../../src/cluster/dead-children/session-guardian.js';
import type { Shard } from '../../src/shards/ownership/owned-shard.js';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import type { ShardSupervisorOptions } from '../../src/shards/supervisor/shard-supervisor-options.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { until } from '../support/waiting.mjs';

const WORKER = join(import.meta.dirname, '../fixtures/shard-worker.mjs');
const SHARDS = 12;

interface Worker {
  readonly child: ChildProcess;
  owned: string[];
}

async function startWorker(path: string, id: string, options: object = {}): Promise<Worker> {
  const child = fork(WORKER, [connectString(), path, id, JSON.stringify(options)]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const worker: Worker = { child, owned: [] };
  const joined = new Promise<void>((resolve, reject) => {
    child.on('message', (message: { owned?: string[]; joined?: true; error?: string }) => {
      if (message.owned !== undefined) worker.owned = message.owned;
      if (message.joined) resolve();
      if (message.error !== undefined) reject(new Error(message.error));
    });
  });
  await joined;
  return worker;
}

function supervise(path: string, id: string, options: Partial<ShardSupervisorOptions> = {}): ShardSupervisor {
  const supervisor = new ShardSupervisor({
    ...{ connect: connectString(), path, id, shards: SHARDS },
    session: { sessionTimeoutMs: 10_000 },
    ...options,
  });
  onTestFinished(() => supervisor.stop());
  return supervisor;
}

describe('a supervisor of shards on real servers', () => {
  it.each(['planner', 'other member'])(
    'has the shards of a killed %s at once when a guardian saw it die, long before its lease is over',
    async (which) => {
      const path = uniquePath('guarded-shards');
      const guardian = new SessionGuardian({ connect: connectString() });
      onTestFinished(() => guardian.close());
      const survivor = supervise(path, 'survivor');
      if (which === 'other member') await survivor.start();
      const worker = await startWorker(path, 'worker');
      guardian.watch(worker.child);
      await survivor.start();
      await until(() => worker.owned.length === SHARDS / 2 && survivor.owned.size === SHARDS / 2);
      expect(survivor.health().planner).toBe(which === 'other member');
      const kept = [...survivor.owned.values()];
      const cleanedUp = nextEvent<[CleanupReport]>(guardian, 'cleanedUp');
      const acquired: Shard[] = [];
      survivor.on('acquired', (shard) => acquired.push(shard));
      worker.child.kill('SIGKILL');
      const [report] = await cleanedUp;
      expect(report.sessions).toMatchObject([{ members: 1, clean: true }]);
      // The lease is 3.3 s, and nothing else would end it sooner.
      await until(() => survivor.owned.size === SHARDS);
      expect(acquired.map(({ id }) => id).sort()).toEqual([...worker.owned].sort());
      expect(acquired.every(({ number }) => number >= 2)).toBe(true);
      expect(kept.every((shard) => shard.isHeld())).toBe(true);
    },
    20_000,
  );

  it('drains a worker on SIGTERM: its shards go over, and the process ends well', async () => {
    const path = uniquePath('drained-shards');
    const survivor = supervise(path, 'survivor');
    const worker = await startWorker(path, 'worker');
    await survivor.start();
    await until(() => worker.owned.length === SHARDS / 2 && survivor.owned.size === SHARDS / 2);
    const ended = once(worker.child, 'exit');
    worker.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(survivor.owned.size).toBe(SHARDS);
    const session = await openSession();
    expect(await session.getChildren(`${path}/tombstones`)).toEqual([]);
  });
});

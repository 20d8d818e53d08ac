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
      const workers: Worker[] = [];
      const survivor = supervise(path, 'survivor');
      if (which === 'other member') await survivor.start();
      const worker = await startWorker(path, 'worker');
      workers.push(worker);
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

  it('keeps what stays over a hundred changes of members: no event, no pause, no new term', async () => {
    const [path, shards] = [uniquePath('steady-shards'), 32];
    const members = ['a', 'b', 'c', 'd'].map((id) => supervise(path, id, { shards }));
    const told: string[] = [];
    const owned = (all: readonly ShardSupervisor[]) =>
      new Map(all.flatMap((each) => [...each.owned].map(([id, shard]) => [id, { shard, owner: each }])));
    const follow = (each: ShardSupervisor) => {
      for (const event of ['acquired', 'released', 'lost'] as const)
        each.on(event, ({ id }: Shard) => told.push(id));
    };
    const areShared = (all: readonly ShardSupervisor[]) => {
      const counts = all.map((each) => each.owned.size);
      const sum = counts.reduce((total, count) => total + count, 0);
      return sum === shards && Math.max(...counts) - Math.min(...counts) <= 1;
    };
    for (const each of members) await each.start();
    await until(() => areShared(members));
    for (const each of members) follow(each);
    let [stayed, moved] = [0, 0];
    const change = async (
      before: readonly ShardSupervisor[],
      after: readonly ShardSupervisor[],
      act: () => unknown,
    ) => {
      told.length = 0;
      const former = owned(before);
      await act();
      await until(() => areShared(after));
      for (const [id, { shard, owner }] of owned(after)) {
        if (former.get(id)?.owner !== owner) {
          moved++;
          continue;
        }
        stayed++;
        expect(told).not.toContain(id);
        expect(former.get(id)?.shard).toBe(shard);
        expect([shard.isHeld(), shard.signal.aborted]).toEqual([true, false]);
      }
    };
    for (let time = 0; time < 50; time++) {
      const guest = supervise(path, `guest-${time}`, { shards });
      follow(guest);
      const all = [...members, guest];
      await change(members, all, () => guest.start());
      await change(all, members, () => guest.stop());
    }
    // Of 32 shards a fifth member has six.
    expect([stayed, moved]).toEqual([100 * (shards - 6), 100 * 6]);
  }, 60_000);
});

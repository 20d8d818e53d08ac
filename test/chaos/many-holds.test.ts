import { describe, expect, it, onTestFinished } from 'vitest';
import { DistributedLock, Session, ShardSupervisor } from '../../dist/index.js';
import { connectString, uniquePath } from '../support/conclave/sessions.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

// The benchmark's row many-holds has the figures. A cost for each pair of holds would lose them here.
const [SHARDS, LOCKS] = [4096, 1000];
const TIMES = { sessionTimeoutMs: 40_000, logger: SILENT };
const STALL = { maxStallMs: 30_000 };

describe('a session with maxStallMs', () => {
  it(`owns ${SHARDS} shards, and loses none while it takes them`, async () => {
    const path = uniquePath('many-shards');
    const session = { ...TIMES, ...STALL };
    const supervisor = new ShardSupervisor({ connect: connectString(), path, shards: SHARDS, session });
    onTestFinished(() => supervisor.stop());
    let lost = 0;
    supervisor.on('lost', () => void lost++);
    await supervisor.start();
    await until(() => supervisor.health().owned === SHARDS, 'all shards are owned', 60_000);
    expect(lost).toBe(0);
  }, 90_000);

  it(`holds ${LOCKS} locks that it takes at the same time, and loses none while others come and go`, async () => {
    const session = await Session.connect(connectString(), { ...TIMES, ...STALL });
    onTestFinished(() => session.close());
    const path = uniquePath('many-locks');
    const locks = Array.from({ length: LOCKS }, (_, at) => new DistributedLock(session, `${path}/${at}`));
    const holds = await Promise.all(locks.map((lock) => lock.acquire()));
    for (let cycle = 0; cycle < 50; cycle++)
      await new DistributedLock(session, `${path}/other`).using(() => undefined);
    expect(holds.filter((hold) => !hold.isHeld())).toEqual([]);
    await Promise.all(holds.map((hold) => hold.release()));
  }, 90_000);
});

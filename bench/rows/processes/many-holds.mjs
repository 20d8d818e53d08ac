import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DistributedLock, Session, ShardSupervisor } from 'conclave';
import { serve } from '../../harness/child.mjs';

const ignore = () => undefined;
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** @param {number | undefined} maxStallMs */
const options = (maxStallMs) => ({
  sessionTimeoutMs: 12_000,
  logger: SILENT,
  ...(maxStallMs !== undefined && { maxStallMs }),
});

/** Longest delay of the event loop while `act` runs, and how long that takes, in milliseconds. @param {() => Promise<unknown>} act */
async function timed(act) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const began = performance.now();
  await act();
  const tookMs = performance.now() - began;
  delay.disable();
  return { tookMs, longestBlockMs: delay.max / 1e6 };
}

serve({
  /** One member owns all shards of a new group. @param {{ connect: string, path: string, shards: number, maxStallMs?: number }} given */
  async shards({ connect, path, shards, maxStallMs }) {
    const supervisor = new ShardSupervisor({ connect, path, shards, session: options(maxStallMs) });
    let [lost, owned] = [0, 0];
    supervisor.on('lost', () => void lost++);
    const all = new Promise((resolve) => {
      supervisor.on('acquired', () => ++owned === shards && resolve(undefined));
    });
    const times = await timed(async () => {
      await supervisor.start();
      await all;
    });
    await supervisor.stop();
    return { ...times, lost };
  },

  /** One session takes all locks at the same time. @param {{ connect: string, path: string, locks: number, maxStallMs?: number }} given */
  async locks({ connect, path, locks, maxStallMs }) {
    const session = await Session.connect(connect, options(maxStallMs));
    const all = Array.from({ length: locks }, (_, at) => new DistributedLock(session, `${path}/${at}`));
    /** @type {import('conclave').LockHold[]} */
    let holds = [];
    const times = await timed(async () => {
      holds = await Promise.all(all.map((lock) => lock.acquire()));
    });
    const lost = holds.filter((hold) => !hold.isHeld()).length;
    await Promise.all(holds.map((hold) => hold.release()));
    await session.close();
    return { ...times, lost };
  },
});

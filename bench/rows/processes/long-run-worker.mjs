/** A member of an election and of a group, with jobs, which also does what begins and ends, again and again. Runs with --expose-gc. */
import { readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import {
  DistributedLock,
  ElectionSupervisor,
  LeaderElector,
  Semaphore,
  Session,
  ShardSupervisor,
} from 'conclave';
import { LeaderJobs } from 'conclave/jobs';
import { serve } from '../../harness/child.mjs';

const SHARDS = 6;
const PAUSE_MS = 250;
const COLLECTIONS = 3;
const HANDLES = '/proc/self/fd';

/** @typedef {{ on: (name: any, listener: (...args: any[]) => unknown) => unknown }} Source of errors */

let turns = 0;
let errors = 0;
/** @template {Source} T @param {T} source */
const counted = (source) => {
  source.on('error', () => errors++);
  return source;
};
/** @param {{ once: (name: any, listener: () => unknown) => unknown }} source @param {string} event */
const next = (source, event) => new Promise((resolve) => void source.once(event, () => resolve(undefined)));

/** What stays, and one turn of what comes and goes. @param {string} connect @param {number} sessionTimeoutMs */
async function begin(connect, sessionTimeoutMs) {
  const options = { connect, session: { sessionTimeoutMs } };
  const session = await Session.connect(connect, { sessionTimeoutMs });
  const supervisor = counted(new ElectionSupervisor({ ...options, path: '/long/election' }));
  const jobs = new LeaderJobs(supervisor);
  const tick = jobs.job('tick', () => undefined);
  const group = () =>
    counted(new ShardSupervisor({ ...options, path: '/long/shards', shards: SHARDS, run: () => undefined }));
  const member = group();
  await Promise.all([supervisor.start(), member.start()]);

  return async () => {
    await new DistributedLock(session, '/long/lock').using(() => undefined);
    await new Semaphore(session, '/long/seats', 2).using(() => undefined);
    const elector = counted(new LeaderElector(session, '/long/elector'));
    const elected = next(elector, 'elected');
    await elector.start();
    await elected;
    await elector.stop();
    const candidate = counted(new ElectionSupervisor({ ...options, path: '/long/election' }));
    await candidate.start();
    await tick();
    if (supervisor.isLeader) await supervisor.resign();
    await candidate.stop();
    const newcomer = group();
    await newcomer.start();
    await newcomer.stop();
    turns++;
  };
}

/** @type {(() => Promise<void>) | undefined} */
let turn;
serve({
  begin: async (/** @type {[string, number]} */ ...place) => {
    turn = await begin(...place);
  },
  work: async (/** @type {number} */ forMs) => {
    for (const end = performance.now() + forMs; performance.now() < end; await pause(PAUSE_MS))
      await turn?.();
  },
  sample: async () => {
    for (let round = 0; round < COLLECTIONS; round++) {
      globalThis.gc?.();
      await pause(20);
    }
    const { heapUsed, external, rss } = process.memoryUsage();
    return {
      'heap and buffers, kB': (heapUsed + external) / 1000,
      'resident, kB': rss / 1000,
      'open files': readdirSync(HANDLES).length,
      'timers, sockets and other resources': process.getActiveResourcesInfo().length,
      turns,
      errors,
    };
  },
});

/**
 * A worker that loads before it acts as the leader, and reports to its parent. SIGTERM stops it. Arguments: servers, path, how it loads.
 * `prepare`: before it leads, and a leader waits for that; `lead`: at the beginning of its term; `nothing`: not at all. A fourth argument is
 * the period of a job, in milliseconds, which the leader runs.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ElectionSupervisor } from 'conclave';
import { LeaderJobs } from 'conclave/jobs';
import { now } from '../../harness/clock.mjs';

const LOAD_MS = 1500;
const ACT_EVERY_MS = 5;

const [connect = '', path = '', loads = '', jobEveryMs] = process.argv.slice(2);

/** @param {import('conclave').Term} term */
async function act(term) {
  let [actedAt, longestPauseMs] = [0, 0];
  while (term.isHeld()) {
    const at = now();
    if (actedAt === 0) process.send?.({ firstActAt: at });
    else longestPauseMs = Math.max(longestPauseMs, at - actedAt);
    actedAt = at;
    await pause(ACT_EVERY_MS);
  }
  if (actedAt > 0) process.send?.({ lastActAt: actedAt, longestPauseMs });
}

/** @param {AbortSignal} signal */
async function load(signal) {
  await pause(LOAD_MS, undefined, { signal });
  process.send?.({ loaded: true });
}

/** Fires at multiples of the period, as the schedulers of all replicas do. @param {number} periodMs */
function fireEvery(periodMs) {
  const job = new LeaderJobs(supervisor).job(
    'job',
    ({ scheduledFor }) => void process.send?.({ firing: scheduledFor.getTime() }),
    { scheduledFor: (at) => new Date(Number(at)), missed: 'all' },
  );
  let next = Math.ceil(Date.now() / periodMs) * periodMs;
  const fire = () => {
    for (; next <= Date.now(); next += periodMs) job(next).catch((error) => console.error(error));
    setTimeout(fire, next - Date.now());
  };
  fire();
}

const supervisor = new ElectionSupervisor({
  connect,
  path,
  ...(loads === 'prepare' && {
    prepare: ({ signal }) => load(signal),
    waitForPreparedMs: 5000,
  }),
  lead: async (term) => {
    if (loads === 'lead') await load(term.signal);
    await act(term);
  },
});
supervisor.on('error', (error) => console.error(error));
if (jobEveryMs !== undefined) fireEvery(Number(jobEveryMs));
supervisor.shutdownOn(['SIGTERM']);
process.on('disconnect', () => process.exit(1)); // The parent is gone.
await supervisor.start();
process.send?.({ joined: true });

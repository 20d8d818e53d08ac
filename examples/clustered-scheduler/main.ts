/**
 * A service of four processes, one of which is the active scheduler. The active process is killed, and then all processes are
 * replaced, as for a new version. Prints the process that ran the job in each term, and the time without a run before it.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { superviseCluster } from 'conclave';
import { EmbeddedZooKeeper } from 'conclave/testing';

const PERIOD_MS = 50;

process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const embedded = process.env.ZOOKEEPER ? undefined : await EmbeddedZooKeeper.start();
const connect = embedded?.connectString ?? process.env.ZOOKEEPER ?? '';

/** An entry for each run of the job, in the order in which the primary learns of them. */
const runs: { pid: number; term: number; atMs: number }[] = [];

cluster.setupPrimary({
  exec: fileURLToPath(new URL('./worker.ts', import.meta.url)),
  args: [connect, String(PERIOD_MS)],
});
cluster.on('message', (_, message) => {
  if (message?.ran !== undefined) runs.push(message.ran);
});
const workers = superviseCluster({ connect, workers: 4 });
workers.on('error', (error) => console.error(error));
process.once('SIGINT', () => void workers.stop().then(() => process.exit(130)));
workers.guardian.on('cleanedUp', ({ pid, tookMs }) => {
  console.log(`what process ${pid} led was given back ${tookMs.toFixed(0)} ms after its end`);
});

/** Resolves with the active worker as soon as the three others wait. */
async function untilAllReady() {
  for (;;) {
    const leader = workers.workers.find(({ role }) => role === 'leading');
    if (leader !== undefined && workers.workers.filter(({ role }) => role === 'waiting').length === 3)
      return leader;
    await new Promise((resolve) => workers.once('roleChanged', resolve));
  }
}

async function moreRuns(count: number) {
  for (const target = runs.length + count; runs.length < target; ) await once(cluster, 'message');
}

const first = await untilAllReady();
await moreRuns(10);
console.log(`worker ${first.slot} is active, and is killed`);
const killed = new Promise((resolve) => workers.once('exited', resolve));
process.kill(first.pid ?? 0, 'SIGKILL');
await killed;
const second = await untilAllReady();
await moreRuns(10);
console.log(`worker ${second.slot} is active, and all are replaced, that one last`);
await workers.replaceWorkers();
await untilAllReady();
await moreRuns(10);
await workers.stop();

const terms = [...new Set(runs.map(({ term }) => term))];
for (const term of terms) {
  const own = runs.filter((each) => each.term === term);
  const before = runs.findLast((each) => each.term < term);
  const gap =
    before === undefined
      ? ''
      : `, ${((own[0]?.atMs ?? 0) - before.atMs).toFixed(0)} ms after the last run before`;
  console.log(`term ${term}: process ${own[0]?.pid} ran the job ${own.length} times${gap}`);
}
const inOrder = runs.every((run, index) => index === 0 || run.term >= (runs[index - 1]?.term ?? 0));
const alone = terms.every(
  (term) => new Set(runs.filter((run) => run.term === term).map(({ pid }) => pid)).size === 1,
);
console.log(`One process at a time ran the job, term after term: ${inOrder && alone ? 'yes' : 'NO'}`);
await embedded?.stop();
process.exitCode = inOrder && alone && terms.length >= 3 ? 0 : 1;

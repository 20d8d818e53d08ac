/**
 * A service of four processes, one of which is the active scheduler. The active process is killed, and then all processes are
 * replaced, as for a new version. Prints which process ran the job, and the longest time without a run.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { join } from 'node:path';
import { superviseCluster } from 'conclave';
import { useZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import '../support/quiet.mjs';

const PERIOD_MS = 50;

/** An entry for each run of the job, in the order in which the primary learns of them.
 * @type {{ pid: number, term: number, atMs: number }[]} */
const runs = [];

const zookeeper = await useZooKeeper();
cluster.setupPrimary({
  exec: join(import.meta.dirname, 'worker.mjs'),
  args: [zookeeper.connectString, String(PERIOD_MS)],
});
cluster.on('message', (_, message) => {
  if (message?.ran !== undefined) runs.push(message.ran);
});
const workers = superviseCluster({ connect: zookeeper.connectString, workers: 4 });
workers.on('error', (error) => console.error(error));
process.once('SIGINT', () => void workers.stop().then(() => process.exit(130)));
workers.guardian.on('cleanedUp', ({ pid, tookMs }) => {
  console.log(`what process ${pid} led was given back ${tookMs.toFixed(0)} ms after its end`);
});

/** The active process, once there is one and all the others wait. */
async function allStand() {
  for (;;) {
    const leader = workers.workers.find(({ role }) => role === 'leading');
    if (leader !== undefined && workers.workers.filter(({ role }) => role === 'waiting').length === 3)
      return leader;
    await new Promise((resolve) => workers.once('roleChanged', resolve));
  }
}

/** @param {number} count */
async function moreRuns(count) {
  for (const target = runs.length + count; runs.length < target; ) await once(cluster, 'message');
}

const first = await allStand();
await moreRuns(10);
console.log(`worker ${first.slot} is active, and is killed`);
const killed = new Promise((resolve) => workers.once('exited', resolve));
process.kill(first.pid ?? 0, 'SIGKILL');
await killed;
const second = await allStand();
await moreRuns(10);
console.log(`worker ${second.slot} is active, and all are replaced, that one last`);
await workers.replaceWorkers();
await allStand();
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
await zookeeper.stop();
process.exitCode = inOrder && alone && terms.length >= 3 ? 0 : 1;

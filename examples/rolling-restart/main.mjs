/**
 * Four workers share one election. They are restarted one after the other, while the leader runs a job every 50 ms. In the end
 * every job must have run exactly once.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { useZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import '../support/quiet.mjs';

const PERIOD_MS = 50;
const zookeeper = await useZooKeeper();
const election = `/examples/rolling-restart-${process.pid}`;

/** @type {{ job: number, id: string, lateMs: number, term: number }[]} */
const jobs = [];
/** @type {{ id: string, term: number, at: number, event: string }[]} */
const changes = [];

/** Starts a worker, and resolves when it is ready to lead.
 * @param {string} id */
async function start(id) {
  const child = fork(join(import.meta.dirname, 'worker.mjs'), [zookeeper.connectString, id], {
    env: { ...process.env, ELECTION: election },
  });
  child.on('message', (/** @type {any} */ message) => {
    if (message.event === 'job') jobs.push(message);
    else if (message.event !== 'listening') changes.push(message);
  });
  const [{ port }] = await once(child, 'message');
  while (!(await fetch(`http://127.0.0.1:${port}/ready`)).ok) await sleep(20);
  return child;
}

/** Stops a worker as a deployment does: sends SIGTERM, and waits for the end.
 * @param {import('node:child_process').ChildProcess} child */
async function stop(child) {
  const began = performance.now();
  child.kill('SIGTERM');
  const [code, signal] = await once(child, 'exit');
  return { code: code ?? signal, tookMs: Math.round(performance.now() - began) };
}

const untilJobs = async (/** @type {number} */ count) => {
  const goal = jobs.length + count;
  while (jobs.length < goal) await sleep(5);
};

const workers = [];
for (const id of ['A1', 'B1', 'C1', 'D1']) workers.push(await start(id));
await untilJobs(10);
const codes = [];
for (const [index, id] of ['A2', 'B2', 'C2', 'D2'].entries()) {
  const old = /** @type {import('node:child_process').ChildProcess} */ (workers[index]);
  const { code, tookMs } = await stop(old);
  codes.push(code);
  console.log(`${id.replace('2', '1')} has left with code ${code}, ${tookMs} ms after SIGTERM`);
  workers[index] = await start(id);
  await untilJobs(10);
}
for (const worker of workers) codes.push((await stop(worker)).code);
await zookeeper.stop();

for (const elected of changes.filter(({ event, term }) => event === 'elected' && term > 1)) {
  const before = changes.find(({ event, term }) => event === 'demoted' && term === elected.term - 1);
  const first = jobs.find(({ term }) => term === elected.term);
  if (before === undefined || first === undefined) continue; // Elected while all workers were stopping.
  const gapMs = (elected.at - before.at).toFixed(1);
  console.log(
    `${before.id} -> ${elected.id}: no leader for ${gapMs} ms, the first job was ${first.lateMs} ms late`,
  );
}

const times = new Map();
for (const { job } of jobs) times.set(job, (times.get(job) ?? 0) + 1);
const [first, last] = [Math.min(...times.keys()), Math.max(...times.keys())];
const missing = Array.from({ length: last - first + 1 }, (_, n) => first + n).filter(
  (job) => !times.has(job),
);
const twice = [...times].filter(([, count]) => count > 1).map(([job]) => job);
const allWell = missing.length === 0 && twice.length === 0 && codes.every((code) => code === 0);
console.log(`Every exit code 0: ${codes.every((code) => code === 0) ? 'yes' : `NO, ${codes}`}`);
console.log(
  `Each of the ${times.size} jobs, one every ${PERIOD_MS} ms, ran exactly once: ` +
    (missing.length + twice.length === 0 ? 'yes' : `NO, missing ${missing}, more than once ${twice}`),
);
process.exitCode = allWell ? 0 : 1;

/**
 * Four workers share one election. They are restarted one after the other, while the leader runs a job every 50 ms. In the end
 * every job must have run exactly once.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedZooKeeper } from 'conclave/testing';

const PERIOD_MS = 50;

process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const embedded = process.env.ZOOKEEPER ? undefined : await EmbeddedZooKeeper.start();
const connect = embedded?.connectString ?? process.env.ZOOKEEPER ?? '';
const election = `/examples/rolling-restart-${process.pid}`;

const jobs: { job: number; id: string; lateMs: number; term: number }[] = [];
const changes: { id: string; term: number; at: number; event: string }[] = [];

/** Starts a worker, and resolves when it is ready to lead. */
async function start(id: string): Promise<ChildProcess> {
  const worker = fork(new URL('./worker.ts', import.meta.url), [connect, id], {
    env: { ...process.env, ELECTION: election },
  });
  worker.on('message', (message: (typeof jobs)[number] & (typeof changes)[number]) => {
    if (message.event === 'job') jobs.push(message);
    else if (message.event !== 'listening') changes.push(message);
  });
  const [{ port }] = await once(worker, 'message');
  while (!(await fetch(`http://127.0.0.1:${port}/ready`)).ok) await sleep(20);
  return worker;
}

/** Stops a worker as a deployment does: sends SIGTERM, and waits for the end. */
async function stop(worker: ChildProcess) {
  const began = performance.now();
  worker.kill('SIGTERM');
  const [code, signal] = await once(worker, 'close'); // All of its messages have come by then.
  return { code: code ?? signal, tookMs: Math.round(performance.now() - began) };
}

async function untilJobs(count: number) {
  const goal = jobs.length + count;
  while (jobs.length < goal) await sleep(5);
}

const workers: ChildProcess[] = [];
for (const id of ['A1', 'B1', 'C1', 'D1']) workers.push(await start(id));
await untilJobs(10);
const codes: (number | string)[] = [];
for (const [index, old] of [...workers].entries()) {
  const name = 'ABCD'.charAt(index);
  const { code, tookMs } = await stop(old);
  codes.push(code);
  console.log(`${name}1 has left with code ${code}, ${tookMs} ms after SIGTERM`);
  workers[index] = await start(`${name}2`);
  await untilJobs(10);
}
for (const worker of workers) codes.push((await stop(worker)).code);
await embedded?.stop();

for (const elected of changes.filter(({ event, term }) => event === 'elected' && term > 1)) {
  const before = changes.find(({ event, term }) => event === 'demoted' && term === elected.term - 1);
  const first = jobs.find(({ term }) => term === elected.term);
  if (before === undefined || first === undefined) continue; // Elected while all workers were stopping.
  const gapMs = (elected.at - before.at).toFixed(1);
  console.log(
    `${before.id} -> ${elected.id}: no leader for ${gapMs} ms, the first job was ${first.lateMs} ms late`,
  );
}

const times = new Map<number, number>();
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

/** Three replicas of a service with a scheduler. The replica that runs the job is killed, and the next one is stopped. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedZooKeeper } from 'conclave/testing';

process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const embedded = process.env.ZOOKEEPER ? undefined : await EmbeddedZooKeeper.start();
const connect = embedded?.connectString ?? process.env.ZOOKEEPER ?? '';

/** Each run of the job: the replica that ran it, and the term. */
const runs: { id: string; term: number }[] = [];
const replicas = new Map<string | undefined, ChildProcess>();

/** Starts a replica, and resolves when it has joined the election. */
async function start(id: string) {
  const replica = fork(new URL('./replica.ts', import.meta.url), [connect, id]);
  replicas.set(id, replica);
  await new Promise<void>((resolve) => {
    replica.on('message', (message: 'joined' | (typeof runs)[number]) => {
      if (message === 'joined') resolve();
      else runs.push(message);
    });
  });
}
await Promise.all(['A', 'B', 'C'].map(start));

/** Ends the leader, and resolves with the milliseconds until another replica ran the job. */
async function replaceLeader(signal: 'SIGKILL' | 'SIGTERM'): Promise<number> {
  const leader = runs.at(-1)?.id;
  const endedAt = performance.now();
  replicas.get(leader)?.kill(signal);
  replicas.delete(leader);
  while (runs.at(-1)?.id === leader) await sleep(1);
  return Math.round(performance.now() - endedAt);
}

async function moreRuns(count: number) {
  for (const goal = runs.length + count; runs.length < goal; ) await sleep(20);
}

await moreRuns(3);
console.log('--- the leader is killed');
const killedMs = await replaceLeader('SIGKILL');
await moreRuns(3);
console.log('--- the leader is stopped');
const stoppedMs = await replaceLeader('SIGTERM');
await moreRuns(3);
for (const replica of replicas.values()) {
  replica.kill('SIGTERM');
  await once(replica, 'exit');
}
await embedded?.stop();

console.log(`After the kill the job ran again within ${killedMs} ms, after the stop within ${stoppedMs} ms.`);
const held = runs.every(({ id, term }, index) => {
  const before = runs[index - 1];
  return before === undefined || (term === before.term && id === before.id) || term > before.term;
});
console.log(`One replica at a time ran the job, term after term: ${held ? 'yes' : 'NO'}`);
process.exitCode = held ? 0 : 1;

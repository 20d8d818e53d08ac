/**
 * A leader with a cache is suspended, as a laptop or a virtual machine may be, until its session has expired. When it goes on, its
 * clean-up hook drops the cache before it joins the next election.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Session } from 'conclave';
import { EmbeddedZooKeeper } from 'conclave/testing';

process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const embedded = process.env.ZOOKEEPER ? undefined : await EmbeddedZooKeeper.start();
const connect = embedded?.connectString ?? process.env.ZOOKEEPER ?? '';

const EXPECTED = [
  'term begins, cache absent',
  'demoted',
  'expired',
  'hook: the session of term N is lost (session-expired); the first attempt fails',
  'hook: cache dropped at attempt 2',
  'cleaned',
  'restarting',
  'term begins, cache absent',
  'demoted',
];

const folder = await mkdtemp(join(tmpdir(), 'cleanup-hook-'));
const steps: string[] = [];
const replica = fork(new URL('./replica.ts', import.meta.url), [connect, join(folder, 'cache.json')]);
replica.on('message', (step: string) => steps.push(step.replace(/term \d+/, 'term N')));
// A suspended replica doesn't notice that this process has ended, so it is killed.
process.once('exit', () => replica.kill('SIGKILL'));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

async function untilTerms(count: number) {
  while (steps.filter((step) => step.startsWith('term begins')).length < count) await sleep(20);
}

await untilTerms(1);
console.log('--- the replica is suspended until its session has expired');
replica.kill('SIGSTOP');
const session = await Session.connect(connect);
while ((await session.getChildren('/examples/cleanup-hook')).length > 0) await sleep(50);
await session.close();

console.log('--- the replica goes on');
replica.kill('SIGCONT');
await untilTerms(2);
replica.kill('SIGTERM');
await once(replica, 'close'); // All of its messages have come by then.

await rm(folder, { recursive: true });
await embedded?.stop();

const held = JSON.stringify(steps) === JSON.stringify(EXPECTED);
console.log(`The cache was dropped before the next election: ${held ? 'yes' : `NO: ${steps.join(', ')}`}`);
process.exitCode = held ? 0 : 1;

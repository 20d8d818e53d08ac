/**
 * Two replicas of a service whose job fires every second. The leader is killed. The next leader first runs the firings that were
 * missed meanwhile, so that each second has its run.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedZooKeeper } from 'conclave/testing';

process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const embedded = process.env.ZOOKEEPER ? undefined : await EmbeddedZooKeeper.start();
const connect = embedded?.connectString ?? process.env.ZOOKEEPER ?? '';

const firings: string[] = [];

let isNextReady = false;

function start(id: string) {
  const replica = fork(new URL('./replica.ts', import.meta.url), [connect, id]);
  replica.on('message', (message: string) => {
    if (message === 'waiting') isNextReady = true;
    else firings.push(message);
  });
  return replica;
}

async function untilFirings(count: number) {
  while (firings.length < count) await sleep(20);
}

const a = start('A');
await untilFirings(1);
const b = start('B');
while (!isNextReady) await sleep(20);
await untilFirings(3);
await sleep(500); // Between two firings.

console.log('--- A is killed');
a.kill('SIGKILL');
await untilFirings(firings.length + 5);

console.log('--- B is stopped');
b.kill('SIGTERM');
await once(b, 'exit');
await embedded?.stop();

const seconds = firings.map((firing) => Date.parse(firing) / 1000);
const held = seconds.every((second, index) => index === 0 || second === (seconds[index - 1] ?? 0) + 1);
console.log(`${seconds.length} firings, one for each second, in order: ${held ? 'yes' : 'NO'}`);
process.exitCode = held ? 0 : 1;

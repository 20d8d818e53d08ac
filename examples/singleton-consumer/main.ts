/**
 * Three consumers of one feed, which grows while they read. The leader, which reads, is killed twice. In the end the log has
 * every record of the feed exactly once, in order.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedZooKeeper } from 'conclave/testing';
import { FencedLog, serveLog } from './log.js';

const RECORDS = 600;
const KILL_AT = [100, 300];

process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const embedded = process.env.ZOOKEEPER ? undefined : await EmbeddedZooKeeper.start();
const connect = embedded?.connectString ?? process.env.ZOOKEEPER ?? '';

const folder = await mkdtemp(join(tmpdir(), 'singleton-consumer-'));
const feed = join(folder, 'feed.txt');
await writeFile(feed, '');
const log = new FencedLog();
const { server, url } = await serveLog(log);

const consumers = new Map<string | undefined, ChildProcess>();
for (const id of ['A', 'B', 'C']) {
  const consumer = fork(new URL('./consumer.ts', import.meta.url), [connect, id, feed, url]);
  consumers.set(id, consumer);
  await once(consumer, 'message');
}

async function write() {
  for (let record = 0; record < RECORDS; record++) {
    await appendFile(feed, `record ${record}\n`);
    if (record % 10 === 0) await sleep(5);
  }
}
const writing = write();

for (const position of KILL_AT) {
  while (log.entries.length < position) await sleep(5);
  const leader = log.entries.at(-1)?.by;
  console.log(`${leader} is killed after record ${log.entries.length - 1}`);
  consumers.get(leader)?.kill('SIGKILL');
  consumers.delete(leader);
}
await writing;
while (log.entries.length < RECORDS) await sleep(20);

for (const consumer of consumers.values()) {
  consumer.kill('SIGTERM');
  await once(consumer, 'exit');
}
const expected = (await readFile(feed, 'utf8')).toUpperCase().split('\n').slice(0, -1);
const complete = JSON.stringify(log.entries.map(({ value }) => value)) === JSON.stringify(expected);
const readers = new Set(log.entries.map(({ by }) => by));
console.log(
  `${log.entries.length} of ${expected.length} records in the log, in order and each once: ${complete ? 'yes' : 'NO'}`,
);
console.log(`read by ${[...readers].join(', then ')}`);

server.close();
await embedded?.stop();
await rm(folder, { recursive: true });
process.exitCode = complete && readers.size === KILL_AT.length + 1 ? 0 : 1;

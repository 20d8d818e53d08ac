/**
 * Three consumers of one feed, which grows while they read. The leader, which reads, is killed twice. In the end the log has
 * every record of the feed exactly once, in order.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { useZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { FencedLog, serveLog } from '../support/fenced-sink.mjs';
import '../support/quiet.mjs';

const RECORDS = 600;
const KILL_AT = [100, 300];

const zookeeper = await useZooKeeper();
const folder = await mkdtemp(join(tmpdir(), 'conclave-feed-'));
const feed = join(folder, 'feed.txt');
await writeFile(feed, '');

const log = new FencedLog();
const sink = await serveLog(log);
const consumers = new Map();
for (const id of ['A', 'B', 'C']) {
  const child = fork(join(import.meta.dirname, 'consumer.mjs'), [
    zookeeper.connectString,
    id,
    feed,
    sink.url,
  ]);
  consumers.set(id, child);
  await once(child, 'message');
}

const writing = (async () => {
  for (let record = 0; record < RECORDS; record++) {
    await appendFile(feed, `record ${record}\n`);
    if (record % 10 === 0) await sleep(5);
  }
})();

for (const position of KILL_AT) {
  while (log.entries.length < position) await sleep(5);
  const id = log.entries.at(-1)?.by;
  console.log(`${id} is killed after record ${log.entries.length - 1}`);
  consumers.get(id).kill('SIGKILL');
}
await writing;
while (log.entries.length < RECORDS) await sleep(20);

for (const child of consumers.values()) {
  if (child.exitCode !== null || child.signalCode !== null) continue;
  child.disconnect();
  await once(child, 'exit');
}
const expected = (await readFile(feed, 'utf8')).toUpperCase().split('\n').slice(0, -1);
const complete = JSON.stringify(log.entries.map(({ value }) => value)) === JSON.stringify(expected);
const readers = new Set(log.entries.map(({ by }) => by));
console.log(
  `${log.entries.length} of ${expected.length} records in the log, in order and each once: ${complete ? 'yes' : 'NO'}`,
);
console.log(`read by ${[...readers].join(', then ')}`);

await sink.stop();
await zookeeper.stop();
await rm(folder, { recursive: true });
process.exitCode = complete && readers.size === KILL_AT.length + 1 ? 0 : 1;

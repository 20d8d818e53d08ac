/** Two consumers share twelve shards; a third one joins, one is killed, one is drained. Each event is handled once, in order. */
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedZooKeeper } from 'conclave/testing';
import { connect, createTables } from './progress.js';

const SHARDS = Array.from({ length: 12 }, (_, number) => String(number));
const EVENTS = 200; // Of each shard.
const EXPECTED = SHARDS.length * EVENTS;

const { POSTGRES } = process.env;
if (!POSTGRES) throw new Error('expected POSTGRES=postgresql://user:password@host:port/database');
process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const embedded = process.env.ZOOKEEPER ? undefined : await EmbeddedZooKeeper.start();
const zookeeper = embedded?.connectString ?? process.env.ZOOKEEPER ?? '';

const schema = `conclave_example_${randomUUID().replaceAll('-', '')}`;
const database = connect(POSTGRES, schema);
await database.query(`CREATE SCHEMA ${schema}`);
await createTables(database, SHARDS, EVENTS);

/** The owner of each shard, as the consumers report it. */
const owners = new Map<string, string>();
let moves = 0;

function start(id: string) {
  const args = [zookeeper, id, schema, String(SHARDS.length)];
  const consumer = fork(new URL('./consumer.ts', import.meta.url), args);
  consumer.on('message', (shard: string) => {
    moves += Number(owners.has(shard));
    owners.set(shard, id);
  });
  return consumer;
}

/** Waits until these consumers share all shards evenly, and prints how many shards have moved. */
async function shared(...among: string[]) {
  const count = (id: string) => [...owners.values()].filter((owner) => owner === id).length;
  while (!among.every((id) => count(id) === SHARDS.length / among.length)) await sleep(20);
  console.log(`${among.map((id) => `${id} has ${count(id)}`).join(', ')}; shards moved: ${moves}`);
  moves = 0;
}

const a = start('A');
const b = start('B');
await shared('A', 'B');

console.log('--- C joins');
const c = start('C');
await shared('A', 'B', 'C');

console.log('--- A is killed');
a.kill('SIGKILL');
await shared('B', 'C');

console.log('--- B is drained, as in a deployment');
b.kill('SIGTERM');
await once(b, 'exit');
await shared('C');

async function countHandled(): Promise<number> {
  const { rows } = await database.query<{ count: number }>('SELECT count(*)::int AS count FROM handled');
  return rows[0]?.count ?? 0;
}
while ((await countHandled()) < EXPECTED) await sleep(50);
c.kill('SIGTERM');
await once(c, 'exit');

const { rows } = await database.query<{ handled: number; wrong: number }>(
  `SELECT count(*)::int AS handled, (count(*) FILTER (WHERE number <> expected))::int AS wrong FROM (
     SELECT number, row_number() OVER (PARTITION BY shard ORDER BY at) AS expected FROM handled
   ) each`,
);
const handled = rows[0]?.handled;
const held = handled === EXPECTED && rows[0]?.wrong === 0;
console.log(`${handled} of ${EXPECTED} events handled. Each once, and in order: ${held ? 'yes' : 'NO'}`);

await database.query(`DROP SCHEMA ${schema} CASCADE`);
await database.end();
await embedded?.stop();
process.exitCode = held ? 0 : 1;

/** Two consumers share twelve shards; a third one joins, one is killed, one is drained. Each event is handled once, in order. */
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { usePostgres } from '../../tools/postgres/server.mjs';
import { useZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import '../support/quiet.mjs';
import { connect, createTables } from './progress.mjs';

const SHARDS = Array.from({ length: 12 }, (_, number) => String(number));
const EVENTS = 200; // Of each shard.
const GIVE_UP_MS = 50_000;

const tooLong = setTimeout(() => {
  console.error(`The example did not end within ${GIVE_UP_MS / 1000} s.`);
  process.exit(1);
}, GIVE_UP_MS);

/** Who owns which shard, by what the consumers say. @type {Map<string, string>} */
const owners = new Map();
/** @type {Map<string, import('node:child_process').ChildProcess>} */
const consumers = new Map();
process.once('exit', () => {
  for (const consumer of consumers.values()) consumer.kill('SIGKILL');
});
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => process.exit(1));

const zookeeper = await useZooKeeper();
const postgres = await usePostgres();
const schema = `conclave_example_${randomUUID().replaceAll('-', '')}`;
const database = await connect(postgres.connectionString, schema);
await database.query(`CREATE SCHEMA ${schema}`);
await createTables(database, SHARDS, EVENTS);
let moves = 0;

/** @param {string} id */
function start(id) {
  const consumer = fork(
    join(import.meta.dirname, 'consumer.mjs'),
    [zookeeper.connectString, id, schema, String(SHARDS.length)],
    { env: { ...process.env, POSTGRES: postgres.connectionString } },
  );
  consumers.set(id, consumer);
  consumer.on('message', (/** @type {{ event: string, shard: string }} */ { event, shard }) => {
    if (event !== 'acquired') return;
    moves += Number(owners.has(shard));
    owners.set(shard, id);
  });
  consumer.once('exit', () => consumers.delete(id));
}

/** How many shards each of them has, once all have an owner among them. @param {string[]} among */
async function shared(...among) {
  const count = (/** @type {string} */ id) => [...owners.values()].filter((owner) => owner === id).length;
  const isEven = () => among.every((id) => count(id) === SHARDS.length / among.length);
  while (!isEven()) await sleep(20);
  const counts = among.map((id) => `${id} has ${count(id)}`).join(', ');
  console.log(`${counts}; shards moved: ${moves}`);
  moves = 0;
}

start('A');
start('B');
await shared('A', 'B');

console.log('--- C joins');
start('C');
await shared('A', 'B', 'C');

console.log('--- A is killed');
consumers.get('A')?.kill('SIGKILL');
await shared('B', 'C');

console.log('--- B is drained, as in a deploy');
const drained = once(/** @type {import('node:child_process').ChildProcess} */ (consumers.get('B')), 'exit');
consumers.get('B')?.send('drain');
await drained;
await shared('C');

const all = SHARDS.length * EVENTS;
const handledSoFar = async () => Number((await database.query('SELECT count(*) FROM handled')).rows[0].count);
while ((await handledSoFar()) < all) await sleep(50);

const { rows } = await database.query(
  `SELECT count(*) FILTER (WHERE number <> expected) AS wrong FROM (
     SELECT number, row_number() OVER (PARTITION BY shard ORDER BY at) AS expected FROM handled
   ) each`,
);
const wrong = Number(rows[0].wrong);
const count = await handledSoFar();
const held = count === all && wrong === 0;
console.log(`${count} of ${all} events handled. Each once, and in order: ${held ? 'yes' : 'NO'}`);

const ended = once(/** @type {import('node:child_process').ChildProcess} */ (consumers.get('C')), 'exit');
consumers.get('C')?.disconnect();
await ended;
await database.query(`DROP SCHEMA ${schema} CASCADE`);
await database.end();
await postgres.stop();
await zookeeper.stop();
clearTimeout(tooLong);
process.exitCode = held ? 0 : 1;

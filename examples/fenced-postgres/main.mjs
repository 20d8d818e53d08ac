/**
 * A leader is suspended between its check and its write, for so long that another leader is elected and writes. When it
 * continues, it can't know that its write is late, and PostgreSQL refuses it.
 */
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { usePostgres } from '../../tools/postgres/server.mjs';
import { useZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import '../support/quiet.mjs';
import { connect, createTable } from './account.mjs';

const GIVE_UP_MS = 45_000;

/** @type {Set<import('node:child_process').ChildProcess>} */
const replicas = new Set();
// A suspended replica doesn't notice that this process has ended, so it is killed.
process.once('exit', () => {
  for (const replica of replicas) replica.kill('SIGKILL');
});
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM']))
  process.once(signal, () => process.exit(1));

const zookeeper = await useZooKeeper();
const postgres = await usePostgres();
const schema = `conclave_example_${randomUUID().replaceAll('-', '')}`;
const database = await connect(postgres.connectionString, schema);
await database.query(`CREATE SCHEMA ${schema}`);
await createTable(database);

/**
 * @param {string} id
 * @param {string[]} options
 */
function start(id, ...options) {
  const replica = fork(
    join(import.meta.dirname, 'replica.mjs'),
    [zookeeper.connectString, id, schema, ...options],
    { env: { ...process.env, POSTGRES: postgres.connectionString } },
  );
  replicas.add(replica);
  replica.once('exit', () => replicas.delete(replica));
  return replica;
}

const giveUp = AbortSignal.timeout(GIVE_UP_MS);
/**
 * Resolves with the next message of the replica.
 *
 * @param {import('node:child_process').ChildProcess} replica
 */
const nextMessage = (replica) =>
  Promise.race([
    once(replica, 'message', { signal: giveUp }),
    once(replica, 'exit', { signal: giveUp }).then(() => {
      throw new Error('a replica has ended by itself');
    }),
  ]);

const a = start('A', 'stall');
await nextMessage(a); // A is about to write, and is suspended.
const b = start('B');
const [written] = await nextMessage(b); // B was elected.
const tried = nextMessage(a);
a.kill('SIGCONT');
const [outcome] = await tried;

const { rows } = await database.query('SELECT value FROM balance');
const balance = rows[0].value;
const held = outcome === 'refused' && balance === written;
console.log(
  `The balance is ${balance}. The late write was refused, its successor's stands: ${held ? 'yes' : 'NO'}`,
);

// A first: it joins the election again, and would lead after B.
for (const replica of [a, b]) {
  const ended = once(replica, 'exit', { signal: giveUp });
  replica.disconnect();
  await ended;
}
await database.query(`DROP SCHEMA ${schema} CASCADE`);
await database.end();
await postgres.stop();
await zookeeper.stop();
process.exitCode = held ? 0 : 1;

/**
 * A leader is suspended between its check and its write, for so long that another leader is elected and writes. When it
 * continues, it can't know that its write is late, and PostgreSQL refuses it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { EmbeddedZooKeeper } from 'conclave/testing';
import { Account, connect } from './account.js';

const { POSTGRES } = process.env;
if (!POSTGRES) throw new Error('expected POSTGRES=postgresql://user:password@host:port/database');
process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const embedded = process.env.ZOOKEEPER ? undefined : await EmbeddedZooKeeper.start();
const zookeeper = embedded?.connectString ?? process.env.ZOOKEEPER ?? '';

// A suspended replica doesn't notice that this process has ended, so it is killed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const schema = `conclave_example_${randomUUID().replaceAll('-', '')}`;
const database = connect(POSTGRES, schema);
await database.query(`CREATE SCHEMA ${schema}`);
const account = new Account(database, 'savings');
await account.create();

function start(id: string, ...options: string[]): ChildProcess {
  const replica = fork(new URL('./replica.ts', import.meta.url), [zookeeper, id, schema, ...options]);
  process.once('exit', () => replica.kill('SIGKILL'));
  return replica;
}

/** Resolves with the next message of the replica. */
async function nextMessage(replica: ChildProcess): Promise<string> {
  const ended = once(replica, 'exit').then(() => {
    throw new Error('a replica has ended by itself');
  });
  ended.catch(() => undefined); // In the end, each replica ends.
  const [message] = await Promise.race([once(replica, 'message'), ended]);
  return message;
}

const a = start('A', 'stall');
await nextMessage(a); // A is about to write, and is suspended.
const b = start('B');
const written = await nextMessage(b); // B was elected.
const tried = nextMessage(a);
a.kill('SIGCONT');
const outcome = await tried;

const balance = await account.read();
const held = outcome === 'refused' && String(balance) === written;
console.log(
  `The balance is ${balance}. The late write was refused, its successor's stands: ${held ? 'yes' : 'NO'}`,
);

// A first: it joins the election again, and would lead after B.
for (const replica of [a, b]) {
  replica.kill('SIGTERM');
  await once(replica, 'exit');
}
await database.query(`DROP SCHEMA ${schema} CASCADE`);
await database.end();
await embedded?.stop();
process.exitCode = held ? 0 : 1;

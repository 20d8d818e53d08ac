/**
 * One replica of a service that keeps an account. While it leads it deposits. One that is told to stall stands still
 * between its check and its write, as a process may in a long garbage collection or on a machine that is suspended.
 *
 *     POSTGRES=postgresql://… node examples/fenced-postgres/replica.mjs ZOOKEEPER ID SCHEMA [stall]
 *
 * The database is named in the environment: its password isn't for everybody who may list processes.
 */
import { once } from 'node:events';
import { ElectionSupervisor } from 'conclave';
import { Account, connect, FencedOutError } from './account.mjs';

const [zookeeper = '', id = '', schema = '', stall] = process.argv.slice(2);
const postgres = process.env.POSTGRES ?? '';

/** Resolves when the message has been handed over: it is not lost if this process stands still next.
 * @param {string} message */
const tell = (message) =>
  new Promise((resolve) => (process.send ? process.send(message, resolve) : resolve(undefined)));

/** @param {import('conclave').Term} term */
async function lead(term) {
  const database = await connect(postgres, schema);
  try {
    await deposit(term, new Account(database, 'savings', term));
  } finally {
    await database.end();
  }
}

/**
 * @param {import('conclave').Term} term
 * @param {Account} account
 */
async function deposit(term, account) {
  console.log(`${id} leads with token ${term.token} and finds ${await account.begin()}`);
  const value = await account.change((balance) => balance + 100n);
  console.log(`${id} has written ${value}`);
  if (stall !== undefined) return await writeAfterStall(term, account, value + 50n);
  await tell(String(value));
  if (!term.signal.aborted) await once(term.signal, 'abort');
}

/**
 * @param {import('conclave').Term} term
 * @param {Account} account
 * @param {bigint} value
 */
async function writeAfterStall(term, account, value) {
  term.assertHeld();
  console.log(`${id} is about to write ${value}, has asked whether it leads, and stands still`);
  await tell('stands still');
  const before = performance.now();
  process.kill(process.pid, 'SIGSTOP'); // Ends at the SIGCONT of main.mjs.
  const stoodMs = Math.round(performance.now() - before);
  // It was true a moment ago that it leads, as far as it can tell: it doesn't ask again.
  const refusal = await account.set(value).then(
    () => undefined,
    (error) => {
      if (error instanceof FencedOutError) return error;
      throw error;
    },
  );
  console.log(`${id} goes on after ${stoodMs} ms and writes ${value}: ${refusal?.message ?? 'WRITTEN'}`);
  await tell(refusal === undefined ? 'written' : 'refused');
}

const supervisor = new ElectionSupervisor({
  connect: zookeeper,
  path: '/examples/fenced-postgres',
  id,
  session: { sessionTimeoutMs: 1500 },
  lead,
});
supervisor.on('error', (error) => console.error(`${id}: ${error.message}`));
const leave = async () => {
  await supervisor.stop();
  if (process.connected) process.disconnect();
};
process.once('SIGTERM', leave).once('disconnect', leave);
await supervisor.start();

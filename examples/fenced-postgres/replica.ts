/**
 * One replica of a service that keeps an account. While it leads, it deposits. With `stall` it suspends itself between its
 * check and its write, as a process may be by a long garbage collection or by a machine that is suspended.
 *
 *     POSTGRES=postgresql://… npx tsx replica.ts ZOOKEEPER ID SCHEMA [stall]
 *
 * The environment names the database, because arguments, and a password in them, are visible in the process list.
 */
import { once } from 'node:events';
import { ElectionSupervisor, FencedOutError, type Term } from 'conclave';
import { Account, connect } from './account.js';

const [zookeeper = '', id = '', schema = '', stall] = process.argv.slice(2);
const postgres = process.env.POSTGRES ?? '';

/** Resolves when the message was sent: it is not lost if this process is suspended next. */
function report(message: string) {
  return new Promise<unknown>((resolve) => {
    if (process.send === undefined) resolve(undefined);
    else process.send(message, resolve);
  });
}

const database = connect(postgres, schema);
const account = new Account(database, 'savings');

async function lead(term: Term) {
  const value = await account.change((balance) => {
    console.log(`${id} leads with token ${term.token} and finds ${balance}`);
    return balance + 100n;
  });
  console.log(`${id} has written ${value}`);
  if (stall !== undefined) return await writeAfterStall(term, value + 50n);
  await report(String(value));
  if (!term.signal.aborted) await once(term.signal, 'abort');
}

async function writeAfterStall(term: Term, value: bigint) {
  term.assertHeld();
  console.log(`${id} is about to write ${value}, has asked whether it leads, and stands still`);
  await report('stands still');
  const before = performance.now();
  process.kill(process.pid, 'SIGSTOP'); // Until main.ts sends SIGCONT.
  const stoodMs = Math.round(performance.now() - before);
  // The replica checked before its suspension that it leads, and doesn't check again.
  const refusal = await account
    .change(() => value)
    .then(
      () => undefined,
      (error) => {
        if (error instanceof FencedOutError) return error;
        throw error;
      },
    );
  console.log(`${id} goes on after ${stoodMs} ms and writes ${value}: ${refusal?.message ?? 'WRITTEN'}`);
  await report(refusal === undefined ? 'written' : 'refused');
}

const supervisor = new ElectionSupervisor({
  connect: zookeeper,
  path: '/examples/fenced-postgres',
  id,
  lead,
});
supervisor.on('error', (error) => console.error(id, error));
supervisor.shutdownOn(['SIGTERM', 'SIGINT']);
process.once('disconnect', () => process.exit(1)); // main.ts has ended.
await supervisor.start();

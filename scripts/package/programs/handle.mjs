/** Runs an election on the embedded server, and a worker thread with a handle of the term. Argument: the file of the thread. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { LeaderElector, Session } from 'conclave';
import { heldTerm } from 'conclave/held-term';
import { EmbeddedZooKeeper } from 'conclave/testing';

async function main() {
  const server = await EmbeddedZooKeeper.start();
  const session = await Session.connect(server.connectString);
  const elector = new LeaderElector(session, '/election');
  /** @type {Promise<import('conclave').Term>} */
  const elected = new Promise((resolve) => elector.once('elected', resolve));
  await elector.start();
  const term = await elected;
  const thread = new Worker(/** @type {string} */ (process.argv[2]), { workerData: term.handle() });
  const ask = async () => {
    thread.postMessage('ask');
    console.log((await once(thread, 'message'))[0]);
  };
  await ask();
  await elector.stop();
  await ask();
  console.log(`this thread: is held: ${heldTerm(term.handle()).isHeld()}`);
  await session.close();
  await server.stop();
}

main().catch((error) => {
  console.error(error);
  process.exit(1); // The server would keep the process alive.
});

/** Runs a leader whose work blocks its thread for several leases. A thread must send its heartbeats meanwhile, to a server in a process of its own. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { LeaderElector, Session } from 'conclave';
import { EmbeddedZooKeeper } from 'conclave/testing';

const LEASE_MS = 1500;
const BLOCKS_MS = 5000;
const ASKS_EVERY_MS = 20;

async function main() {
  if (process.send !== undefined) {
    process.send((await EmbeddedZooKeeper.start()).connectString);
    return;
  }
  const server = fork(/** @type {string} */ (process.argv[1]));
  const [connect] = await once(server, 'message');
  const session = await Session.connect(connect, { leaseMs: LEASE_MS, maxStallMs: 10 * BLOCKS_MS });
  const elector = new LeaderElector(session, '/election');
  /** @type {Promise<import('conclave').Term>} */
  const elected = new Promise((resolve) => elector.once('elected', resolve));
  await elector.start();
  const term = await elected;
  const end = performance.now() + BLOCKS_MS;
  // The thread stands still here. It computes nothing, because other checks run at the same time.
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (performance.now() < end && term.isHeld()) Atomics.wait(never, 0, 0, ASKS_EVERY_MS);
  console.log(`stalled: is held: ${term.isHeld()}`);
  await elector.stop();
  await session.close();
  server.kill();
}

main().catch((error) => {
  console.error(error);
  process.exit(1); // The server would keep the process alive.
});

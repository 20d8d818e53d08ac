/**
 * Runs a leader whose work blocks its thread for longer than the lease. The watchdog's thread must end the process. Argument: for how
 * many milliseconds the process runs before that, 0 by default.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaderElector, Session } from 'conclave';
import { EmbeddedZooKeeper } from 'conclave/testing';

const LEASE_MS = 500;
const BLOCKS_MS = 3000;

async function main() {
  await sleep(Number(process.argv[2] ?? 0));
  const server = await EmbeddedZooKeeper.start();
  const session = await Session.connect(server.connectString, { leaseMs: LEASE_MS });
  const elector = new LeaderElector(session, '/election', {
    watchdog: true,
    lead: () => {
      const end = performance.now() + BLOCKS_MS;
      while (performance.now() < end);
      console.log('goes on without its lease');
      process.exit(1);
    },
  });
  elector.on('error', (error) => console.error(error));
  await elector.start();
}

main().catch((error) => {
  console.error(error);
  process.exit(1); // The server would keep the process alive.
});

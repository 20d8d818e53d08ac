/** Runs a leader whose work blocks its thread for longer than the lease. The watchdog's thread must end the process. */
import { LeaderElector, Session } from 'conclave';
import { EmbeddedZooKeeper } from 'conclave/testing';

const LEASE_MS = 500;
const BLOCKS_MS = 10_000;

async function main() {
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

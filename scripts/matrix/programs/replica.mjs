/** A candidate that prints when it waits and when it leads. Arguments: servers, the election's path, the lease in milliseconds. */
import { ElectionSupervisor } from 'conclave';

const [connect = '', path = '', leaseMs = ''] = process.argv.slice(2);
const supervisor = new ElectionSupervisor({
  connect,
  path,
  session: { sessionTimeoutMs: 180_000, leaseMs: Number(leaseMs) },
  lead: async (term) => {
    console.log(`leads term ${term.number}, held: ${term.isHeld()}`);
    await new Promise((resolve) => term.signal.addEventListener('abort', resolve, { once: true }));
  },
});
supervisor.on('waiting', () => console.log('waits')).on('error', (error) => console.error(error));
await supervisor.start();

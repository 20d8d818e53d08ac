/** A worker that joins an election, and reports to its parent when it leads. Arguments: servers, path, session timeout. */
import { ElectionSupervisor } from 'conclave';
import { now } from '../../harness/clock.mjs';

const [connect = '', path = '', sessionTimeoutMs = ''] = process.argv.slice(2);
const supervisor = new ElectionSupervisor({
  connect,
  path,
  session: { sessionTimeoutMs: Number(sessionTimeoutMs) },
});
supervisor.on('elected', () => process.send?.({ electedAt: now() }));
supervisor.on('error', (error) => console.error(error));
await supervisor.start();
process.send?.({ joined: true });

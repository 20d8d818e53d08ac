/** A worker that joins an election, and reports to its parent when it leads. Arguments: servers, path, session timeout. */
import { ElectionSupervisor } from 'conclave';

const [connect = '', path = '', sessionTimeoutMs = ''] = process.argv.slice(2);
const supervisor = new ElectionSupervisor({
  connect,
  path,
  session: { sessionTimeoutMs: Number(sessionTimeoutMs) },
});
// A monotonic clock that all processes of a machine share.
supervisor.on('elected', () => process.send?.({ electedAt: String(process.hrtime.bigint()) }));
supervisor.on('error', (error) => console.error(error));
await supervisor.start();
process.send?.('joined');

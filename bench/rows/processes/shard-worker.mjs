/** A worker that owns shards, and reports each of them to its parent. Arguments: servers, path, shards, session timeout. */
import { ShardSupervisor } from 'conclave';
import { now } from '../../harness/clock.mjs';

const [connect = '', path = '', shards = '', sessionTimeoutMs = ''] = process.argv.slice(2);
const supervisor = new ShardSupervisor({
  connect,
  path,
  shards: Number(shards),
  session: { sessionTimeoutMs: Number(sessionTimeoutMs) },
});
supervisor
  .on('acquired', ({ id }) => process.send?.({ acquired: id, at: now() }))
  .on('released', ({ id }) => process.send?.({ released: id }))
  .on('lost', ({ id }) => process.send?.({ released: id }))
  .on('planned', () => process.send?.({ planned: true }))
  .on('error', (error) => console.error(error));
await supervisor.start();
process.send?.({ joined: true });

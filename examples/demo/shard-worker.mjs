/**
 * A worker of the demo of shards: says what it owns, and works in each shard every 100 ms with the shard's token.
 *
 *     node examples/demo/shard-worker.mjs ZOOKEEPER ID SHARDS
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ShardSupervisor } from 'conclave';

const [zookeeper = '', id = '', shards = ''] = process.argv.slice(2);
/** With the time of the machine, so that the processes can be compared. @param {object} message */
const say = (message) =>
  process.send?.({ id, at: String(process.hrtime.bigint()), ...message }, () => undefined);

const supervisor = new ShardSupervisor({
  connect: zookeeper,
  path: '/examples/demo-shards',
  shards: Number(shards),
  id,
  session: { sessionTimeoutMs: 2000 },
  run: async (shard) => {
    while (shard.isHeld()) {
      say({ event: 'worked', shard: shard.id, number: shard.number, token: String(shard.token) });
      await sleep(100, undefined, { signal: shard.signal }).catch(() => undefined);
    }
  },
});
supervisor
  .on('acquired', ({ id: shard, number, token }) =>
    say({ event: 'acquired', shard, number, token: String(token) }),
  )
  .on('released', ({ id: shard }) => say({ event: 'released', shard }))
  .on('error', (error) => console.error(id, error));
const leave = async (/** @type {unknown} */ message) => {
  await (message === 'drain' ? supervisor.drain() : supervisor.stop());
  if (process.connected) process.disconnect();
};
process.once('message', leave).once('disconnect', leave);
await supervisor.start();

/**
 * One of several consumers that share the shards of a group.
 *
 *     POSTGRES=postgresql://… node examples/sharded-consumers/consumer.mjs ZOOKEEPER ID SCHEMA SHARDS
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ShardSupervisor } from 'conclave';
import { connect, FencedOutError, Progress } from './progress.mjs';

const [zookeeper = '', id = '', schema = '', shards = ''] = process.argv.slice(2);
const EVENT_MS = 15; // How long an event takes.

/** The work for one shard, from `acquired` to the end of its term. @param {import('conclave').Shard} shard */
async function consume(shard) {
  const database = await connect(process.env.POSTGRES ?? '', schema);
  try {
    const progress = new Progress(database, shard);
    for (let number = (await progress.begin()) + 1; shard.isHeld(); number++) {
      while (!(await progress.has(number))) await sleep(100, undefined, { signal: shard.signal });
      await sleep(EVENT_MS, undefined, { signal: shard.signal });
      await progress.handle(number, id);
    }
  } catch (error) {
    // The signal has aborted, or another consumer has the shard by now: this term is over.
    if (!(error instanceof FencedOutError) && !shard.signal.aborted) throw error;
  } finally {
    await database.end();
  }
}

const supervisor = new ShardSupervisor({
  connect: zookeeper,
  path: '/examples/sharded-consumers',
  shards: Number(shards),
  id,
  session: { sessionTimeoutMs: 1500 },
  run: consume,
});
const say = (/** @type {object} */ message) => process.send?.({ id, ...message }, () => undefined);
supervisor
  .on('acquired', (shard) => say({ event: 'acquired', shard: shard.id }))
  .on('released', (shard, reason) => say({ event: 'released', shard: shard.id, reason }))
  .on('lost', (shard, reason) => say({ event: 'lost', shard: shard.id, reason }))
  .on('error', (error) => console.error(`${id}: ${error.message}`));
const leave = async (/** @type {unknown} */ message) => {
  await (message === 'drain' ? supervisor.drain() : supervisor.stop());
  if (process.connected) process.disconnect();
};
process.once('message', leave).once('disconnect', leave).once('SIGTERM', leave);
await supervisor.start();

/**
 * One of several consumers that share the shards of a group.
 *
 *     POSTGRES=postgresql://… npx tsx consumer.ts ZOOKEEPER ID SCHEMA SHARDS
 *
 * The environment names the database, because arguments, and a password in them, are visible in the process list.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { FencedOutError, type Shard, ShardSupervisor } from 'conclave';
import { connect, Progress } from './progress.js';

const [zookeeper = '', id = '', schema = '', shards = ''] = process.argv.slice(2);
const EVENT_MS = 15; // How long an event takes.
const database = connect(process.env.POSTGRES ?? '', schema);

/** The work for one shard, from `acquired` to the end of its term. */
async function consume(shard: Shard) {
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
  }
}

const supervisor = new ShardSupervisor({
  connect: zookeeper,
  path: '/examples/sharded-consumers',
  shards: Number(shards),
  id,
  run: consume,
});
supervisor.on('acquired', (shard) => process.send?.(shard.id)); // For main.ts, which counts.
supervisor.on('error', (error) => console.error(id, error));

// With `drain`, the other consumers get ready for its shards before it gives them up.
supervisor.shutdownOn(['SIGTERM', 'SIGINT'], { drain: true, cleanup: () => database.end() });
process.once('disconnect', () => process.exit(1)); // main.ts has ended.
await supervisor.start();

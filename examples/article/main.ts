/**
 * The program of the articles on leader election with ZooKeeper: each of fifteen nodes acquires the lock once and leads for
 * 500 to 3500 ms, while all others follow.
 *
 *     npx tsx main.ts [--seed N] [--scale FACTOR]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DistributedLock, Session } from 'conclave';
import { EmbeddedZooKeeper } from 'conclave/testing';

const NODES = 15;
const SHORTEST_MS = 500;
const LONGEST_MS = 3500;

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, scale: { type: 'string', default: '1' } },
});

/** A linear congruential generator, good enough for durations: the same numbers for the same seed. */
function* randomNumbers(seed: number): Generator<number, never> {
  for (let state = seed >>> 0; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

const random = randomNumbers(Number(values.seed));
const durations = Array.from(
  { length: NODES },
  () => (SHORTEST_MS + random.next().value * (LONGEST_MS - SHORTEST_MS)) * Number(values.scale),
);

process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const embedded = process.env.ZOOKEEPER ? undefined : await EmbeddedZooKeeper.start();
const connect = embedded?.connectString ?? process.env.ZOOKEEPER ?? '';
let leaders = 0;

async function runNode(durationMs: number): Promise<number> {
  const session = await Session.connect(connect);
  const lock = new DistributedLock(session, '/examples/article');
  const hold = await lock.acquire({
    onWaiting: ({ ahead }) => console.log(`waiting for ${lock.path}/${ahead}!`),
  });
  if (++leaders > 1) throw new Error('two leaders at once');
  const began = performance.now();
  console.log('Now I am leader, all must follow!');
  await sleep(durationMs, undefined, { signal: hold.signal });
  const lasted = performance.now() - began;
  console.log(`Unlocking! ${hold.path}`);
  leaders--;
  await hold.release();
  await session.close();
  return lasted;
}

const lasted = await Promise.all(durations.map(runNode));
const average = lasted.reduce((sum, ms) => sum + ms, 0) / lasted.length;
console.log(
  `min ${Math.min(...lasted).toFixed(0)} ms, max ${Math.max(...lasted).toFixed(0)} ms, average ${average.toFixed(0)} ms`,
);
await embedded?.stop();

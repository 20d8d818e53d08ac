/**
 * The program of the articles on leader election with ZooKeeper: each of fifteen nodes acquires the lock once and leads for
 * 500 to 3500 ms, while all others follow.
 *
 *     node examples/article/main.mjs [--seed N] [--scale FACTOR]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DistributedLock, Session } from 'conclave';
import { useZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import '../support/quiet.mjs';

const NODES = 15;
const SHORTEST_MS = 500;
const LONGEST_MS = 3500;

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, scale: { type: 'string', default: '1' } },
});

/** A linear congruential generator, good enough for durations: the same numbers for the same seed.
 * @param {number} seed */
function* randomNumbers(seed) {
  for (let state = seed >>> 0; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

const random = randomNumbers(Number(values.seed));
const durations = Array.from(
  { length: NODES },
  () => (SHORTEST_MS + (random.next().value ?? 0) * (LONGEST_MS - SHORTEST_MS)) * Number(values.scale),
);
const zookeeper = await useZooKeeper();
let leaders = 0;

/** @param {number} durationMs */
async function runNode(durationMs) {
  const session = await Session.connect(zookeeper.connectString);
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
await zookeeper.stop();

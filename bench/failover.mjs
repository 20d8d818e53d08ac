/**
 * How long it takes until somebody leads again when a leader's process was killed, with a guardian in its parent and
 * without: `npm run build && node bench/failover.mjs [--rounds 50] [--unguarded 10] [--session-timeout 10000]`.
 *
 * Each worker is a process of its own, with a warm successor that waits. Counted from the news of the process's end until
 * the successor's `elected`, by the machine's monotonic clock. The rounds without a guardian run beside those with one, each
 * in an election of its own.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SessionGuardian } from 'conclave';
import { startZooKeeper } from '../scripts/zookeeper.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    unguarded: { type: 'string', default: '10' },
    'session-timeout': { type: 'string', default: '10000' },
    json: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(values.rounds);
const UNGUARDED = Number(values.unguarded);
const SESSION_MS = Number(values['session-timeout']);
if (![ROUNDS, UNGUARDED, SESSION_MS].every((count) => Number.isInteger(count) && count > 0))
  throw new Error('expected --rounds, --unguarded and --session-timeout to be whole numbers over 0');

const WORKER = fileURLToPath(new URL('failover/worker.mjs', import.meta.url));
// A guardian hears of a new worker within its first greetings; a round begins when it has.
const GUARDED_BY_THEN_MS = 500;

/** One worker, and when it was elected. */
class Worker {
  /** @param {string} connect @param {string} path */
  constructor(connect, path) {
    this.child = fork(WORKER, [connect, path, String(SESSION_MS)]);
    /** @type {Promise<bigint>} */
    this.elected = new Promise((resolve) => {
      this.child.on('message', (message) => {
        if (typeof message === 'object' && message !== null && 'electedAt' in message)
          resolve(BigInt(/** @type {string} */ (message.electedAt)));
      });
    });
    this.standing = new Promise((resolve) => {
      this.child.on('message', (message) => message === 'standing' && resolve(undefined));
    });
  }

  /** Kills it, and gives when its end was known. */
  async kill() {
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
    return process.hrtime.bigint();
  }
}

/** One leader after the other is killed: how long each successor took, in milliseconds.
 * @param {string} connect @param {string} path @param {number} rounds @param {SessionGuardian} [guardian] */
async function measure(connect, path, rounds, guardian) {
  const start = async () => {
    const worker = new Worker(connect, path);
    guardian?.watch(worker.child);
    await worker.standing;
    return worker;
  };
  const took = [];
  let leader = await start();
  await leader.elected;
  for (let round = 0; round < rounds; round++) {
    const next = await start();
    await new Promise((resolve) => setTimeout(resolve, GUARDED_BY_THEN_MS));
    const endedAt = await leader.kill();
    took.push(Number((await next.elected) - endedAt) / 1e6);
    leader = next;
  }
  await leader.kill();
  return took;
}

/** @param {number[]} numbers */
function summary(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  /** @param {number} share */
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return { rounds: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

const zookeeper = await startZooKeeper();
const guardian = new SessionGuardian({ connect: zookeeper.connectString });
guardian.on('error', (error) => console.error(error));
try {
  const { connectString } = zookeeper;
  const unguarded = Array.from({ length: UNGUARDED }, (_, index) =>
    measure(connectString, `/unguarded-${index}`, 1),
  );
  const guarded = await measure(connectString, '/guarded', ROUNDS, guardian);
  const rows = {
    'with a guardian': summary(guarded),
    'without one': summary((await Promise.all(unguarded)).flat()),
  };
  if (values.json) console.log(JSON.stringify({ sessionTimeoutMs: SESSION_MS, ...rows }));
  else {
    console.log(
      `until somebody leads again, in ms, after kill -9 of a leader with a session of ${SESSION_MS} ms`,
    );
    console.table(rows);
  }
} finally {
  await guardian.close();
  await zookeeper.stop();
}

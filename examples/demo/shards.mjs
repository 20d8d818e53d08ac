/** Shards in five seconds: two workers share twelve; a third one joins, one is killed, one is drained. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import './quiet.mjs';
import { openServer } from './server.mjs';

const COUNT = 12;
const GIVE_UP_AFTER_MS = 50_000;

/** @typedef {{ id: string, at: string, event: 'acquired' | 'released' | 'worked', shard: string, number: number, token: string }} Message */

const tooLong = setTimeout(() => {
  console.error(`The demo did not end within ${GIVE_UP_AFTER_MS / 1000} s.`);
  process.exit(1);
}, GIVE_UP_AFTER_MS);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const beganAt = performance.now();
const say = (/** @type {string} */ text) =>
  console.log(`${((performance.now() - beganAt) / 1000).toFixed(2).padStart(6)} s  ${text}`);
const zookeeper = await openServer(say);
const shards = Array.from({ length: COUNT }, (_, number) => String(number));

/** By shard, its terms, of which each has a number. @type {Map<string, Map<number, Term>>} */
const terms = new Map();
/** @type {Map<string, import('node:child_process').ChildProcess>} */
const workers = new Map();
let [moved, worked] = [0, 0];

/** @typedef {{ owner: string, token: bigint, beganAt: bigint, workedAt: bigint }} Term */

/** @param {Message} message */
function take({ id, at, event, shard, number, token }) {
  if (event === 'released') return;
  const ofShard = terms.get(shard) ?? new Map();
  terms.set(shard, ofShard);
  const term = ofShard.get(number);
  if (event === 'acquired') {
    moved += Number(ofShard.size > 0);
    ofShard.set(number, { owner: id, token: BigInt(token), beganAt: BigInt(at), workedAt: BigInt(at) });
  } else {
    worked++;
    if (term !== undefined) term.workedAt = BigInt(at);
  }
}

/** The newest term of a shard. @param {string} shard */
const newest = (shard) => [...(terms.get(shard) ?? [])].sort(([one], [other]) => other - one)[0]?.[1];

/** Whether each term of each shard has a higher token than the one before, and began after the last work of that. */
function areInOrder() {
  return [...terms.values()].every((ofShard) => {
    const inOrder = [...ofShard].sort(([one], [other]) => one - other).map(([, term]) => term);
    return inOrder.every((term, at) => {
      const before = inOrder[at - 1];
      return before === undefined || (before.token < term.token && before.workedAt < term.beganAt);
    });
  });
}

/** @param {string} id */
function start(id) {
  const worker = fork(join(import.meta.dirname, 'shard-worker.mjs'), [
    zookeeper.connectString,
    id,
    String(COUNT),
  ]);
  worker.on('message', (message) => take(/** @type {Message} */ (message)));
  worker.once('exit', () => workers.delete(id));
  workers.set(id, worker);
}

const letters = () => shards.map((shard) => newest(shard)?.owner ?? '·').join(' ');

/** Waits until these share all shards evenly, and says how many have moved. @param {string[]} among @returns {Promise<number>} */
async function shared(...among) {
  const count = (/** @type {string} */ id) => shards.filter((shard) => newest(shard)?.owner === id).length;
  while (!among.every((id) => count(id) === COUNT / among.length)) await sleep(10);
  say(`${letters()}   ${moved} moved`);
  const before = moved;
  moved = 0;
  return before;
}

/** @param {string} id */
const worker = (id) => /** @type {import('node:child_process').ChildProcess} */ (workers.get(id));

say(`--- Workers A and B share ${COUNT} shards.`);
start('A');
start('B');
await shared('A', 'B');
await sleep(1000);

say('--- C joins: it gets its part, and nothing else moves.');
start('C');
const joined = await shared('A', 'B', 'C');
await sleep(1000);

say('--- A is killed (SIGKILL). Its lease has to end, of 667 ms.');
const killedAt = performance.now();
worker('A').kill('SIGKILL');
const left = await shared('B', 'C');
say(`--- All its shards were owned again after ${Math.round(performance.now() - killedAt)} ms.`);
await sleep(1000);

say('--- B is drained, as in a deploy: its shards go over, and it ends.');
const ended = once(worker('B'), 'exit');
worker('B').send('drain');
await ended;
const drained = await shared('C');

worker('C').disconnect();
await once(worker('C'), 'exit');
await zookeeper.stop();
clearTimeout(tooLong);

const facts = {
  'only what had to move has moved': joined === 4 && left === 4 && drained === 6,
  'no shard had two owners at work, and tokens have only risen': areInOrder(),
};
console.log(`\n${worked} pieces of work were done.`);
for (const [what, holds] of Object.entries(facts)) console.log(`${what}: ${holds ? 'yes' : 'NO'}`);
process.exitCode = Object.values(facts).every(Boolean) ? 0 : 1;

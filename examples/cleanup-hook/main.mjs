/**
 * State that must not outlive its session: a leader keeps a cache in a file, which is valid only until another replica leads.
 * When the session expires, the clean-up hook deletes the cache, and only then does this replica join the election again.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor, Session } from 'conclave';
import { useZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { openLink } from '../support/link.mjs';
import '../support/quiet.mjs';

const PATH = '/examples/cleanup-hook';
const zookeeper = await useZooKeeper();
const observer = await Session.connect(zookeeper.connectString);
const link = await openLink(zookeeper.connectString);
const folder = await mkdtemp(join(tmpdir(), 'conclave-cache-'));
const cache = join(folder, 'cache.json');

/** @type {string[]} */
const steps = [];
/** @param {string} step */
const note = (step) => {
  steps.push(step);
  console.log(step);
};

const supervisor = new ElectionSupervisor({
  connect: link.connectString,
  path: PATH,
  session: { sessionTimeoutMs: 1000 },
  lead: async (term) => {
    note(`term begins, cache ${existsSync(cache) ? 'still there' : 'absent'}`);
    await writeFile(cache, JSON.stringify({ token: String(term.token) }));
    while (term.isHeld()) await sleep(1000, undefined, { signal: term.signal }); // Rejects when the term ends.
  },
  cleanup: async ({ term, reason, attempt }) => {
    if (attempt === 1) {
      note(`hook: the session of term ${term?.number ?? '-'} is lost (${reason}); the first attempt fails`);
      throw new Error('the disk is busy');
    }
    await rm(cache);
    note(`hook: cache dropped at attempt ${attempt}`);
  },
});
for (const event of /** @type {const} */ (['demoted', 'expired', 'cleaned', 'restarting'])) {
  supervisor.on(event, () => note(event));
}
supervisor.on('error', (error) => console.error(`reported: ${error.message}`));

/** @returns {Promise<import('conclave').Term>} */
const elected = () => new Promise((resolve) => supervisor.once('elected', resolve));
const first = elected();
await supervisor.start();
await first;
while (!existsSync(cache)) await sleep(10);

console.log('--- the network fails until the session has expired');
const expired = new Promise((resolve) => supervisor.once('expired', () => resolve(undefined)));
link.break();
while ((await observer.getChildren(PATH)).length > 0) await sleep(50);
const second = elected();
link.mend();
await expired;
await second;
while (!existsSync(cache)) await sleep(10);
await supervisor.stop();

await observer.close();
await link.stop();
await zookeeper.stop();
await rm(folder, { recursive: true });

const rightOrder = [
  'term begins, cache absent',
  'demoted',
  'expired',
  /^hook: the session/,
  'hook: cache dropped at attempt 2',
  'cleaned',
  'restarting',
  'term begins, cache absent',
  'demoted',
];
const held =
  steps.length === rightOrder.length &&
  rightOrder.every((step, index) =>
    typeof step === 'string' ? steps[index] === step : step.test(steps[index] ?? ''),
  );
console.log(`The cache was dropped before the next election: ${held ? 'yes' : 'NO'}`);
process.exitCode = held ? 0 : 1;

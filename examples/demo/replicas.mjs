/**
 * Leader election in half a minute: three replicas of a scheduler, one of them active. One leader is killed, one resigns, one
 * loses its session. In the end every tick has run exactly once, and there were never two leaders.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FencedLog, serveLog } from './fenced-sink.mjs';
import { openLink } from './link.mjs';
import './quiet.mjs';
import { openServer } from './server.mjs';
import { Timeline } from './timeline.mjs';

const PERIOD_MS = 500;
const SESSION_TIMEOUT_MS = 2000;
const TICKS_BETWEEN = 4;
const GIVE_UP_AFTER_MS = 55_000;

const tooLong = setTimeout(() => {
  console.error(`The demo did not end within ${GIVE_UP_AFTER_MS / 1000} s.`);
  process.exit(1);
}, GIVE_UP_AFTER_MS);

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

const timeline = new Timeline();
const zookeeper = await openServer((text) => timeline.say(text));

const log = new FencedLog();
const sink = await serveLog(log, (entry, refused) => timeline.tick(entry, refused));

/** @typedef {{ id: string, child: import('node:child_process').ChildProcess, link: Awaited<ReturnType<typeof openLink>> }} Replica */

/** @param {string} id @returns {Promise<Replica>} */
async function startReplica(id) {
  const link = await openLink(zookeeper.connectString);
  const child = fork(join(import.meta.dirname, 'replica.mjs'), [link.connectString, id, sink.url], {
    env: {
      ...process.env,
      PERIOD_MS: String(PERIOD_MS),
      SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
    },
  });
  child.on('message', (message) => timeline.take(/** @type {any} */ (message)));
  child.on('exit', (code, signal) => timeline.exited(id, signal ?? `code ${code}`));
  await timeline.next((event) => event.id === id && event.event === 'joined');
  return { id, child, link };
}

/** Lets the job run for a while. */
const someTicks = async () => {
  const enough = log.entries.length + TICKS_BETWEEN;
  while (log.entries.length < enough) await sleep(50);
  // After a pause of the machine a lease may just have ended: wait for the next leader.
  await timeline.until(() => timeline.leader !== undefined);
};

/** @type {Replica[]} */
const replicas = [];
for (const id of ['A', 'B', 'C']) replicas.push(await startReplica(id));
const leader = () => /** @type {Replica} */ (replicas.find(({ id }) => id === timeline.leader));
await timeline.until(() => timeline.leader !== undefined);
await someTicks();

timeline.say(
  `--- Replica ${leader().id} is killed (SIGKILL). Its lease has to end, of ${Math.round(SESSION_TIMEOUT_MS / 3)} ms; its session lasts longer.`,
);
const killed = leader();
const killedAt = timeline.now();
killed.child.kill('SIGKILL');
const afterKill = await timeline.next((event) => event.event === 'elected');
timeline.say(
  `--- Failover took ${Math.round(afterKill.atMs - killedAt)} ms: the takeover delay, for its lease. The session timeout is ${SESSION_TIMEOUT_MS} ms.`,
);
await someTicks();

timeline.say(`--- Replica ${leader().id} is asked to resign.`);
const resignedAt = timeline.now();
leader().child.send('resign');
const afterResign = await timeline.next((event) => event.event === 'elected');
timeline.say(
  `--- The handover took ${(afterResign.atMs - resignedAt).toFixed(1)} ms, from asking to the next election.`,
);
await someTicks();

timeline.say(
  `--- The network of replica ${leader().id} fails without a word, until its session has expired.`,
);
const cutOff = leader();
const cutOffAt = timeline.now();
cutOff.link.break();
const hasCleaned = timeline.next((event) => event.id === cutOff.id && event.event === 'cleaned');
const standsAgain = timeline.next((event) => event.id === cutOff.id && event.event === 'restarting');
await timeline.next((event) => event.event === 'elected' && event.id !== cutOff.id);
await someTicks();
// The next leader doesn't wait for the end of the session. Servers end it up to a tick after its timeout.
while (timeline.now() - cutOffAt < 2 * SESSION_TIMEOUT_MS) await sleep(50);
timeline.say(`--- The network of replica ${cutOff.id} is mended: it learns that its session is over.`);
cutOff.link.mend();
const [cleaned, restarted] = await Promise.all([hasCleaned, standsAgain]);
await someTicks();

timeline.say('--- All replicas are stopped.');
for (const { child } of replicas.filter((replica) => replica !== killed)) {
  child.send('stop');
  if (child.exitCode === null) await once(child, 'exit');
}
await Promise.all(replicas.map(({ link }) => link.stop()));
await sink.stop();
await zookeeper.stop();
clearTimeout(tooLong);

const held = timeline.summarize(log, {
  'the clean-up hook ran before the restart': cleaned.atMs <= restarted.atMs,
  'the killed, the resigned and the cut-off replica were each replaced': timeline.terms.length >= 4,
});
process.exitCode = held ? 0 : 1;

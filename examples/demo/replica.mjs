/**
 * One replica of the demo's scheduler. Of several replicas only the leader runs the job, once in each period.
 *
 *     node examples/demo/replica.mjs ZOOKEEPER ID LOG_URL
 *
 * Each execution is written to the log (see fenced-sink.mjs), with its token. The replica reports events to its parent, and takes
 * commands from it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor } from 'conclave';
import { LogClient } from './fenced-sink.mjs';

const [connect = '', id = '', logUrl = ''] = process.argv.slice(2);
const periodMs = Number(process.env.PERIOD_MS);
const sessionTimeoutMs = Number(process.env.SESSION_TIMEOUT_MS);

/** Monotonic, and the same for all processes of a machine.
 * @param {string} event
 * @param {object} [details] */
const report = (event, details = {}) =>
  process.send?.({ event, id, atMs: Number(process.hrtime.bigint() / 1000n) / 1000, ...details });

/** The leader's work: one tick after the other, from where the former leader stopped.
 * @param {import('conclave').Term} term */
async function runSchedule(term) {
  const log = new LogClient(logUrl, term, id);
  let tick = await log.begin();
  while (term.isHeld()) {
    await log.write(tick++, new Date().toISOString());
    await sleep(periodMs, undefined, { signal: term.signal });
  }
}

const supervisor = new ElectionSupervisor({
  connect,
  path: '/examples/demo',
  id,
  session: { sessionTimeoutMs },
  lead: runSchedule,
  cleanup: async ({ reason, attempt }) => {
    report('cleanup', { reason, attempt }); // Here the application discards state that must not outlive its session.
  },
});
supervisor.on('elected', (term) => report('elected', { term: term.number, token: String(term.token) }));
supervisor.on('demoted', (term, reason) => report('demoted', { term: term.number, reason }));
supervisor.on('expired', () => report('expired'));
supervisor.on('cleaned', () => report('cleaned'));
supervisor.on('restarting', ({ attempt, delayMs }) => report('restarting', { attempt, delayMs }));
supervisor.on('error', (error) => {
  report('error', { message: error.message });
  console.error(id, error);
});

/** Leaves the election, and lets the process end by itself. */
const leave = async () => {
  await supervisor.stop();
  if (process.connected) process.disconnect();
};
process.once('SIGTERM', leave).once('SIGINT', leave).once('disconnect', leave);
process.on('message', (message) => {
  if (message === 'resign') void supervisor.resign();
  if (message === 'stop') void leave();
});

await supervisor.start();
report('joined');

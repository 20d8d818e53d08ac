import { Child } from '../harness/child.mjs';
import { rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { meanOf, trendOf } from '../harness/trend.mjs';

const SCRIPT = new URL('processes/long-run-worker.mjs', import.meta.url);
const SESSION_MS = 4000;
const SAMPLE_EVERY_MS = 10_000;
const MINUTES_OF_ROUND = 12;
const STAYING = 2;
// Otherwise the heap grows for an hour, by code that V8 optimizes.
const OPTIONS = ['--expose-gc', '--no-opt'];
/** So much of the run is left out at the beginning: the heap was seen to rise for 14 minutes, and then no longer. */
const WARM_UP = 1 / 3;
/** With ten degrees of freedom chance exceeds it once in 800 values. */
const ERRORS = 4;

/**
 * Looks whether anything grows that shouldn't: a while with real servers, on which locks, elections, members and jobs come and go.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function longRun({ quick, rounds, say }) {
  const minutes = quick ? 4 : rounds * MINUTES_OF_ROUND;
  const servers = await startServers({ count: 3 });
  const start = async () => {
    const child = new Child(SCRIPT, { execArgv: OPTIONS });
    await child.ask('begin', servers.connect, SESSION_MS);
    return child;
  };
  /** @type {Child[]} */
  const workers = [];
  /** @type {Record<string, number>[]} */
  const samples = [];
  try {
    while (workers.length <= STAYING) workers.push(await start());
    const end = performance.now() + minutes * 60_000;
    for (let lastSaid = 0; performance.now() < end; ) {
      // The last one is killed, and another one takes its place.
      await workers.pop()?.end();
      workers.push(await start());
      await Promise.all(workers.map((worker) => worker.ask('work', SAMPLE_EVERY_MS)));
      const ofWorkers = await Promise.all(workers.slice(0, STAYING).map((worker) => worker.ask('sample')));
      samples.push(sampleOf(ofWorkers, await servers.meter.holdings()));
      const minute = Math.round(minutes - (end - performance.now()) / 60_000);
      if (minute > lastSaid && minute % 5 === 0) say(`long-run: ${minute} of ${minutes} minutes`);
      lastSaid = minute;
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.end()));
    await servers.stop();
  }
  return report(samples, minutes);
}

/** @param {Record<string, number>[]} ofWorkers @param {import('../harness/meter.mjs').Holdings} holdings */
function sampleOf(ofWorkers, { znodes, ephemerals, watches }) {
  const names = Object.keys(ofWorkers[0] ?? {});
  const sums = names.map((name) => [name, ofWorkers.reduce((total, each) => total + (each[name] ?? 0), 0)]);
  return { ...Object.fromEntries(sums), znodes, 'ephemeral nodes': ephemerals, watches };
}

/** @param {Record<string, number>[]} samples @param {number} minutes @returns {import('../harness/finding.mjs').Finding} */
function report(samples, minutes) {
  const { turns = 0, errors = 0 } = samples.at(-1) ?? {};
  const names = Object.keys(samples[0] ?? {}).filter((name) => name !== 'turns' && name !== 'errors');
  const lines = names.map((name) => {
    const values = samples.slice(Math.floor(samples.length * WARM_UP)).map((sample) => sample[name] ?? 0);
    const { perHour, error } = trendOf(values, (minutes / 60) * (1 - WARM_UP));
    return { name, mean: meanOf(values), perHour, noise: ERRORS * error };
  });
  return {
    id: 'long-run',
    title: `What grows in ${minutes} minutes`,
    columns: ['', 'mean', 'more in an hour', `${ERRORS} standard errors of that`],
    table: lines.map(({ name, mean, perHour, noise }) => [
      name,
      rounded(mean, 1),
      rounded(perHour, 2),
      rounded(noise, 2),
    ]),
    notes: [
      `Three servers with their data in memory, ${STAYING} processes that stay and a third one, which is killed and replaced before each of the ${samples.length} samples.`,
      `Each process is a candidate, has jobs and is a member of a group. In ${turns} turns the two each took a lock and a seat of a semaphore, led an election, and let a candidate and a member come and go, with ${errors} errors.`,
      'Memory, open files and resources are of both together, after garbage collections and with nothing under way but what stays. V8 compiles no optimized code (`--no-opt`): such code was all that grew otherwise. Watches are of all servers, znodes of one.',
      'The first third of the run is left out. The slopes are of least squares through the means of twelve stretches.',
    ],
    data: { minutes, samples },
  };
}

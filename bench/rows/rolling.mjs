import { setTimeout as pause } from 'node:timers/promises';
import { now } from '../harness/clock.mjs';
import { chosen, untilSettled } from '../harness/compare.mjs';
import { Driver } from '../harness/driver.mjs';
import { median, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';
import { WarmWorker } from '../harness/warm-worker.mjs';

const RIVAL = 'Curator LeaderLatch';
const REPLICAS = 5;
const JOB_EVERY_MS = 100;
const SESSION_MS = 6000;
/** Longer than a failover: what a restart has ended is replaced before the next restart. */
const SETTLE_MS = 5000;
const NOW = 'nothing to load';
const PREPARES = 'loads 1.5 s in `prepare`';
const ORDERS = /** @type {const} */ (['the leader first', 'the leader last']);

/**
 * @typedef {object} Rolling what happened in one deployment, or in one restart of a server
 * @property {string} what
 * @property {string} who
 * @property {number[]} gapsMs for how long nobody led, at each change of the leader
 * @property {number} [pauseMs] the longest pause between two acts of a leader, in its term
 * @property {Tally} [jobs]
 *
 * @typedef {{ due: number, twice: number, missing: number }} Tally how many firings of the job came due, ran twice, and didn't run
 */

/**
 * Replaces five replicas of a service one by one, and restarts three servers one by one. Measures for how long nobody leads, and counts the
 * firings of a job that run twice or not at all.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function rolling(bench) {
  const rivals = chosen(bench, ({ name }) => name === RIVAL);
  const place = await startServers({ count: 3 });
  /** @type {Rolling[]} */
  const measured = [];
  /** @param {string} what @param {string} who @param {Omit<Rolling, 'what' | 'who'>} result */
  const note = (what, who, result) => measured.push({ what, who, ...result });
  try {
    await deploy(place.connect, '/warm-up', 'nothing', 'the leader first');
    for (let round = 0; round < bench.rounds; round++) {
      for (const order of ORDERS) {
        const what = `five replicas replaced, ${order}`;
        for (const [who, loads] of /** @type {const} */ ([
          [NOW, 'nothing'],
          [PREPARES, 'prepare'],
        ]))
          note(what, who, await deploy(place.connect, `/${loads}-${measured.length}`, loads, order));
        for (const rival of rivals)
          note(what, RIVAL, await deployRival(rival, place, `/latch-${measured.length}`, order));
      }
      measured.push(...(await restartServers(place, `/servers-${round}`)));
      bench.say(`rolling: round ${round + 1} of ${bench.rounds}`);
    }
  } finally {
    await place.stop();
  }
  return report(measured);
}

/** The places of the old replicas in the queue, in the order in which they are stopped. @param {typeof ORDERS[number]} order */
function stopOrder(order) {
  const [leader = 0, ...others] = Array.from({ length: REPLICAS }, (_, at) => at);
  return order === 'the leader first' ? [leader, ...others] : [...others, leader];
}

/** @param {string} connect @param {string} path @param {string} loads @param {typeof ORDERS[number]} order */
async function deploy(connect, path, loads, order) {
  return await withReplicas(connect, path, loads, async (workers, start) => {
    for (const old of stopOrder(order)) {
      await start();
      await workers[old]?.stop();
    }
    const leader = /** @type {WarmWorker} */ (workers[REPLICAS]);
    await leader.firstActAt;
    await pause(3 * JOB_EVERY_MS); // The firings of the last change come first.
    const pauses = workers.flatMap(({ terms }) => terms).map(({ longestPauseMs }) => longestPauseMs ?? 0);
    return {
      gapsMs: gapsOf(workers).map(({ ms }) => ms),
      pauseMs: Math.max(...pauses),
      jobs: tally(workers),
    };
  });
}

/**
 * Calls `task` with five replicas, of which the first one leads and the second one has loaded, and a function that starts one more.
 *
 * @template T
 * @param {string} connect
 * @param {string} path
 * @param {string} loads
 * @param {(workers: readonly WarmWorker[], start: () => Promise<WarmWorker>) => Promise<T>} task
 */
async function withReplicas(connect, path, loads, task) {
  /** @type {WarmWorker[]} */
  const workers = [];
  const start = async () => {
    const worker = new WarmWorker(connect, path, loads, JOB_EVERY_MS);
    workers.push(worker);
    await worker.joined;
    return worker;
  };
  try {
    const leader = await start();
    const next = await start();
    while (workers.length < REPLICAS) await start();
    await Promise.all([leader.firstActAt, next.loaded]);
    return await task(workers, start);
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
  }
}

/** From each stop of the leader until the next contender says that it leads. @param {import('../harness/compare.mjs').Found} rival @param {Awaited<ReturnType<typeof startServers>>} place @param {string} path @param {typeof ORDERS[number]} order */
async function deployRival({ command, recipe }, { connect, meter }, path, order) {
  /** @type {Driver[]} */
  const all = [];
  /** @type {Driver[]} */
  const queue = [];
  const start = async () => {
    const driver = await Driver.start(command, { connect, sessionMs: SESSION_MS, recipe });
    all.push(driver);
    queue.push(driver);
    await driver.open(1);
    await driver.stand(path);
    await untilSettled(meter, ({ ephemerals }) => ephemerals >= queue.length);
  };
  /** @type {number[]} */
  const gapsMs = [];
  try {
    while (all.length < REPLICAS) await start();
    await queue[0]?.held();
    for (const old of stopOrder(order).map((at) => /** @type {Driver} */ (all[at]))) {
      await start();
      const [leader, next] = queue;
      queue.splice(queue.indexOf(old), 1);
      const stoppedAt = performance.now();
      const heldAt = old === leader ? next?.held() : undefined;
      await old.quit();
      if (heldAt !== undefined) gapsMs.push(/** @type {number} */ (await heldAt) - stoppedAt);
    }
  } finally {
    await Promise.all(all.map((driver) => driver.kill()));
  }
  return { gapsMs };
}

/** @param {Awaited<ReturnType<typeof startServers>>} place @param {string} path @returns {Promise<Rolling[]>} */
async function restartServers({ connect, servers }, path) {
  return await withReplicas(connect, path, 'nothing', async (workers) => {
    /** @type {{ what: string, at: number, day: number }[]} */
    const restarts = [];
    for (const server of servers) {
      const what = `a server restarted, ${(await server.mode()) === 'leader' ? 'the leading one' : 'a follower'}`;
      restarts.push({ what, at: now(), day: Date.now() });
      await server.stop();
      await server.start();
      await pause(SETTLE_MS);
    }
    const gaps = gapsOf(workers);
    return restarts.map(({ what, at, day }, index) => {
      const next = restarts[index + 1];
      const within = gaps.filter(
        ({ since }) => since >= at && since < (next?.at ?? Number.POSITIVE_INFINITY),
      );
      return { what, who: NOW, gapsMs: within.map(({ ms }) => ms), jobs: tally(workers, day, next?.day) };
    });
  });
}

/** From the last act of each term to the first one of the next. @param {readonly WarmWorker[]} workers */
function gapsOf(workers) {
  const terms = workers.flatMap((worker) => worker.terms).sort((a, b) => a.firstActAt - b.firstActAt);
  return terms.slice(1).map(({ firstActAt }, at) => {
    const since = terms[at]?.lastActAt ?? Number.NaN;
    if (firstActAt < since) throw new Error('a leader has acted before the last act of the one before it');
    return { since, ms: firstActAt - since };
  });
}

/** Counts the firings of a time, by default from the first one that ran to the last one. @param {readonly WarmWorker[]} workers @param {number} [from] @param {number} [until] @returns {Tally} */
function tally(workers, from, until) {
  const all = workers.flatMap(({ firings }) => firings);
  const first = Math.ceil((from ?? Math.min(...all)) / JOB_EVERY_MS) * JOB_EVERY_MS;
  const end = until ?? Math.max(...all) + 1;
  const ran = all.filter((at) => at >= first && at < end);
  const due = Math.ceil((end - first) / JOB_EVERY_MS);
  const distinct = new Set(ran).size;
  return { due, twice: ran.length - distinct, missing: due - distinct };
}

/** @param {Rolling[]} measured @returns {import('../harness/finding.mjs').Finding} */
function report(measured) {
  const longest = (/** @type {readonly Rolling[]} */ some) =>
    rounded(Math.max(0, ...some.flatMap(({ gapsMs }) => gapsMs)));
  const sum = (/** @type {readonly Rolling[]} */ some, /** @type {keyof Tally} */ what) =>
    some.reduce((total, { jobs }) => total + (jobs?.[what] ?? 0), 0);
  const kinds = [...new Set(measured.map(({ what, who }) => `${what}: ${who}`))].map((kind) =>
    measured.filter(({ what, who }) => `${what}: ${who}` === kind),
  );
  return {
    id: 'rolling',
    title: 'Replicas and servers that are replaced one by one',
    columns: [
      'what',
      'service',
      'times',
      'changes of the leader, most',
      'nobody leads: p50 ms',
      'longest ms',
      'longest pause in a term ms',
      'firings',
      'twice',
      'not at all',
    ],
    table: kinds.map((some) => {
      const [{ what, who, jobs }] = /** @type {[Rolling]} */ (some);
      const gaps = some.flatMap(({ gapsMs }) => gapsMs);
      return [
        ...[what, who, some.length, Math.max(...some.map(({ gapsMs }) => gapsMs.length))],
        ...(gaps.length === 0 ? [0, 0] : [rounded(median(gaps)), longest(some)]),
        some.every(({ pauseMs }) => pauseMs === undefined)
          ? '–'
          : rounded(Math.max(...some.map((each) => each.pauseMs ?? 0))),
        ...(jobs === undefined
          ? ['–', '–', '–']
          : [sum(some, 'due'), sum(some, 'twice'), sum(some, 'missing')]),
      ];
    }),
    notes: [
      'Deployment: a new replica is started; when it has its place in the queue, an old one gets SIGTERM, and has ended before the next one is started. The leader first: the old ones are stopped in the order of the queue, so each of them leads when it is stopped.',
      'Nobody leads: from the last act of a term to the first act of the next one; each leader acts every 5 ms. The longest pause in a term is between two of these acts: so long the machine keeps a process waiting. For LeaderLatch it is from the command to end, which closes its session, until the next one says that it leads; a Java process each.',
      `The job is due every ${JOB_EVERY_MS} ms in all replicas, with \`missed: 'all'\`.`,
      `Three servers with their data in memory. A server gets SIGTERM, is started again, and serves; the next one follows ${SETTLE_MS / 1000} s later. Default options.`,
    ],
    data: { measured },
  };
}

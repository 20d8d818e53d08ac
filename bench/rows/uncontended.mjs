import { chosen, inTurn, percentiles, ratio, startAll } from '../harness/compare.mjs';
import { rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';

// So long that no pings and heartbeats are counted.
const SESSION_MS = 600_000;
const CYCLE_REQUESTS = 3;
const OURS = 'Conclave lock';
// Left out of a quick run.
const SLOW_TO_START = ['Curator InterProcessMutex', 'Curator LeaderLatch', 'kazoo Lock'];
const LOWER_BOUND = 'ready-made packets';
const BARS = { 'go-zookeeper Lock': 0.85, 'Curator InterProcessMutex': 0.75 };

/** @typedef {{ count: 1 | 3, storage: import('../harness/servers.mjs').Storage }} Place */
/** @typedef {{ name: string, rounds: number[][], requests: number }} Cycles its times in microseconds, by round, and the requests of one */

/**
 * Measures uncontended acquire and release on one session: blocks of cycles, the contestants in turn.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
 */
export default async function uncontended(bench) {
  /** @type {Place[]} */
  const places = [{ count: 1, storage: 'tmpfs' }];
  if (!bench.quick)
    places.push({ count: 1, storage: 'disk' }, { count: 3, storage: 'tmpfs' }, { count: 3, storage: 'disk' });
  const measured = [];
  for (const place of places) measured.push({ place, cycles: await measure(bench, place) });
  return report(measured);
}

/** @param {import('../harness/finding.mjs').Bench} bench @param {Place} place @returns {Promise<Cycles[]>} */
async function measure(bench, place) {
  // Just-in-time compilers need that many cycles or more, with any storage.
  const warmUp = bench.quick ? 200 : 6000;
  const block = bench.quick ? 100 : 1000;
  const servers = await startServers(place);
  const running = await startAll(
    chosen(
      bench,
      ({ name, kind, lowerBound, keeps }) =>
        kind !== 'failover' &&
        lowerBound !== 'after a while' &&
        !keeps &&
        !(bench.quick && SLOW_TO_START.includes(name)),
    ),
    { connect: servers.connect, sessionMs: SESSION_MS },
  );
  try {
    const cycles = running.map(({ name, driver }, at) => ({
      name,
      driver,
      path: `/cycle-${at}`,
      rounds: /** @type {number[][]} */ ([]),
      requests: 0,
    }));
    for (const { driver, path } of cycles) {
      await driver.open(1);
      await driver.cycle(path, warmUp);
    }
    bench.say(`${words(place)}: warm`);
    for (let round = 0; round < bench.rounds; round++) {
      for (const each of inTurn(cycles, round)) {
        const { requests } = await servers.meter.during(async () => {
          each.rounds.push(await each.driver.cycle(each.path, block));
        });
        each.requests += requests / block / bench.rounds;
      }
      bench.say(`${words(place)}: round ${round + 1} of ${bench.rounds}`);
    }
    return cycles.map(({ name, rounds, requests }) => ({ name, rounds, requests }));
  } finally {
    await Promise.all(running.map(({ driver }) => driver.kill()));
    await servers.stop();
  }
}

/** @param {Place} place */
function words({ count, storage }) {
  return `${count === 1 ? 'one server' : 'three servers'}, ${storage}`;
}

/** @param {{ place: Place, cycles: Cycles[] }[]} measured @returns {import('../harness/finding.mjs').Finding} */
function report(measured) {
  return {
    id: 'uncontended',
    title: 'Uncontended acquire and release',
    columns: ['servers', 'who', 'p50 µs', 'p99 µs', 'requests a cycle'],
    table: measured.flatMap(({ place, cycles }) =>
      cycles.map(({ name, rounds, requests }) => {
        const { p50, p99 } = percentiles(rounds);
        return [words(place), name, rounded(p50, 0), rounded(p99, 0), rounded(requests, 2)];
      }),
    ),
    summary: { lines: ['servers'], across: 'who', value: 'p50 µs' },
    bars: measured.flatMap(({ place, cycles }) => barsOf(place, cycles)),
    notes: [
      'Blocks of cycles, one contestant after the other in each round, after a warm-up of each; the ratios are medians of those of the rounds.',
      'An election does more than a lock in a cycle: Conclave commits a claim, and gives it back.',
      ...measured.flatMap(({ place, cycles }) => floorOf(place, cycles)),
    ],
    data: measured,
  };
}

/** Compares the lower bound with the others. @param {Place} place @param {readonly Cycles[]} cycles */
function floorOf(place, cycles) {
  const lowerBound = cycles.find(({ name }) => name === LOWER_BOUND);
  if (lowerBound === undefined) return [];
  const against = (/** @type {string} */ name) => {
    const other = cycles.find((each) => each.name === name);
    return other === undefined ? [] : [`${rounded(ratio(lowerBound.rounds, other.rounds), 2)} times ${name}`];
  };
  return [
    `${words(place)}: ${LOWER_BOUND} take ${[OURS, ...Object.keys(BARS)].flatMap(against).join(', ')}.`,
  ];
}

/** @param {Place} place @param {readonly Cycles[]} cycles */
function barsOf(place, cycles) {
  const ours = cycles.find(({ name }) => name === OURS);
  if (ours === undefined) return [];
  const ratios = Object.entries(BARS).flatMap(([name, bar]) => {
    const theirs = cycles.find((each) => each.name === name);
    if (theirs === undefined) return [];
    const measured = rounded(ratio(ours.rounds, theirs.rounds), 3);
    return [{ what: `lock cycle p50, times ${name}, ${words(place)}`, measured, bar }];
  });
  const requests = {
    what: `requests a cycle, ${words(place)}`,
    measured: rounded(ours.requests, 2),
    bar: CYCLE_REQUESTS,
  };
  return [...ratios, requests];
}

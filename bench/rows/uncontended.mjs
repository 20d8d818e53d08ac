import { chosen, inTurn, percentiles, ratio, startAll } from '../harness/compare.mjs';
import { AWAY } from '../harness/links.mjs';
import { rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';

// The timeout is so long that the row counts no pings and heartbeats.
const SESSION_MS = 600_000;
// A follower of ZooKeeper 3.8.0 sometimes forgets a committed request until it gets another one. With this timeout it gets one soon.
const SESSION_WITH_FOLLOWERS_MS = 30_000;
// A quick run leaves these out.
const SLOW_TO_START = ['Curator InterProcessMutex', 'Curator LeaderLatch', 'kazoo Lock'];
/** The lower bounds, each with the contestants that it is compared with. */
const LOWER_BOUNDS = {
  'ready-made packets': ['Conclave lock', 'go-zookeeper Lock', 'Curator InterProcessMutex'],
  'ready-made terms': ['Conclave election', 'Curator LeaderLatch'],
};

/** @typedef {{ count: 1 | 3, storage: import('../harness/servers.mjs').Storage, isAway?: boolean }} Place */
/** @typedef {{ name: string, rounds: number[][], requests: number }} Cycles `rounds`: times in microseconds, by round; `requests`: of one cycle */

/**
 * Measures uncontended acquire and release on one session. The contestants take turns with blocks of cycles.
 *
 * @type {import('../harness/finding.mjs').Row}
 */
export default async function uncontended(bench) {
  /** @type {Place[]} */
  const places = [
    { count: 1, storage: 'tmpfs' },
    { count: 1, storage: 'tmpfs', isAway: true },
  ];
  if (!bench.quick)
    places.push({ count: 1, storage: 'disk' }, { count: 3, storage: 'tmpfs' }, { count: 3, storage: 'disk' });
  const measured = [];
  for (const place of places) measured.push({ place, ...(await measure(bench, place)) });
  return report(measured);
}

/** @param {import('../harness/finding.mjs').Bench} bench @param {Place} place @returns {Promise<{ cycles: Cycles[], notes: readonly string[] }>} */
async function measure(bench, place) {
  // Just-in-time compilers need at least so many cycles, with any storage.
  const warmUp = bench.quick ? 200 : place.isAway ? 2000 : 6000; // Slow cycles differ less by what the compiler has done.
  const block = bench.quick ? 100 : place.isAway ? 200 : 1000;
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
    { connect: servers.connect, sessionMs: place.count === 1 ? SESSION_MS : SESSION_WITH_FOLLOWERS_MS },
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
    bench.say(`${words(place)}: warmed up`);
    for (let round = 0; round < bench.rounds; round++) {
      for (const each of inTurn(cycles, round)) {
        const { requests } = await servers.meter.during(async () => {
          each.rounds.push(await each.driver.cycle(each.path, block));
        });
        each.requests += requests / block / bench.rounds;
      }
      bench.say(`${words(place)}: round ${round + 1} of ${bench.rounds}`);
    }
    return {
      cycles: cycles.map(({ name, rounds, requests }) => ({ name, rounds, requests })),
      notes: servers.notes,
    };
  } finally {
    await Promise.all(running.map(({ driver }) => driver.kill()));
    await servers.stop();
  }
}

/** @param {Place} place */
function words({ count, storage, isAway }) {
  return `${count === 1 ? 'one server' : 'three servers'}, ${storage}${isAway ? `, ${AWAY}` : ''}`;
}

/** @param {{ place: Place, cycles: Cycles[], notes: readonly string[] }[]} measured @returns {import('../harness/finding.mjs').Finding} */
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
    notes: [
      'In each round the contestants run a block of cycles, one after the other, after a warm-up. A ratio is the median of the ratios of all rounds.',
      'In a cycle, an election does more than a lock: Conclave commits a claim and gives it back.',
      ...measured.flatMap(({ place, cycles, notes }) => [...notes, ...floorOf(place, cycles)]),
    ],
    data: measured,
  };
}

/** Compares the lower bounds with the others. @param {Place} place @param {readonly Cycles[]} cycles */
function floorOf(place, cycles) {
  return Object.entries(LOWER_BOUNDS).flatMap(([name, others]) => {
    const times = others.flatMap((other) => {
      const measured = timesOf(cycles, name, other);
      return measured === undefined ? [] : [`${rounded(measured, 2)} times ${other}`];
    });
    return times.length === 0 ? [] : [`${words(place)}: ${name} take ${times.join(', ')}.`];
  });
}

/** The ratio of one contestant's times to another's; `undefined` if one of them wasn't measured. @param {readonly Cycles[]} cycles @param {string} name @param {string} other */
function timesOf(cycles, name, other) {
  const [one, two] = [name, other].map((each) => cycles.find((found) => found.name === each));
  return one && two && ratio(one.rounds, two.rounds);
}

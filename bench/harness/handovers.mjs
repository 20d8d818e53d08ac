/** How rows measure handovers, whatever is handed over. */
import { pause, percentiles, queueUp, startAll } from './compare.mjs';
import { Driver } from './driver.mjs';
import { rounded } from './quantiles.mjs';
import { startServers } from './servers.mjs';

/**
 * How soon one handover follows another. Who is next in line has had no time to notice it, or has had plenty.
 *
 * @typedef {'at once' | 'after a while'} Pace
 *
 * @typedef {object} Setting
 * @property {1 | 3} servers
 * @property {number} crowd how many contend, on a session each
 * @property {Pace} pace
 *
 * @typedef {object} Plan settings that need the same servers and sessions
 * @property {1 | 3} servers
 * @property {Pace} pace
 * @property {readonly number[]} crowds
 *
 * @typedef {object} Series what was measured of one contestant
 * @property {string} name
 * @property {number[][]} rounds times in microseconds, by round
 * @property {number[]} requests of a handover, on average, by line that was formed
 * @property {number[]} notifications likewise
 *
 * @typedef {{ setting: Setting, series: Series[] }} Handovers
 */

// For those that follow at once: nobody's heartbeats, and few pings, fall into what is counted.
const LONG_SESSION_MS = 600_000;
const HANDOVERS = 20;
const QUICK_HANDOVERS = 10;
// For the others: what is done now and then is done by parts of the session timeout.
const SHORT_SESSION_MS = 5000;
const HOLD_MS = 1300;
/** Beyond it, all contestants' sessions would ping so often that they'd be in each other's way. */
const TOGETHER = 100;
const WARM_UP_CYCLES = 1000;
const QUICK_WARM_UP_CYCLES = 100;
/** What a handover leads to is over by then. */
const AFTERMATH_MS = 100;
const IDLE_MS = 200;

/**
 * @typedef {object} Contest
 * @property {import('./finding.mjs').Bench} bench
 * @property {readonly import('./compare.mjs').Found[]} contestants
 * @property {Plan} plan
 * @property {(name: string, crowd: number) => boolean} takesPart whether one does in a crowd of that size
 */

/** @param {Contest} contest @returns {Promise<Handovers[]>} */
export async function measureHandovers({ plan, ...contest }) {
  if (plan.pace === 'at once') return await together({ ...contest, plan });
  const few = plan.crowds.filter((crowd) => crowd <= TOGETHER);
  const measured = few.length === 0 ? [] : await together({ ...contest, plan: { ...plan, crowds: few } });
  for (const crowd of plan.crowds.filter((each) => each > TOGETHER))
    measured.push(await alone({ ...contest, plan }, crowd));
  return measured;
}

/** All on the same servers, in turns. @param {Contest} contest @returns {Promise<Handovers[]>} */
async function together({ bench, contestants, plan, takesPart }) {
  const servers = await startServers({ count: plan.servers });
  const place = { connect: servers.connect, sessionMs: sessionMs(plan.pace) };
  const running = await startAll(contestants, place);
  try {
    for (const { name, driver } of running) await warmUp(name, driver, bench.quick);
    const measured = [];
    for (const crowd of plan.crowds) {
      const series = running
        .filter(({ name }) => takesPart(name, crowd))
        .map(({ name, driver }) => new Contestant(name, driver, crowd));
      for (const { driver } of series) await driver.open(crowd);
      for (let round = firstRound(bench, plan.pace); round < bench.rounds; round++) {
        await goRound(series, servers.meter, { ...plan, crowd, quick: bench.quick });
        if (round < 0) for (const contestant of series) contestant.forget();
        else bench.say(`${words(plan, crowd)}: round ${round + 1} of ${bench.rounds}`);
      }
      measured.push(handovers(plan, crowd, series));
    }
    return measured;
  } finally {
    // A thousand sessions take some programs a minute to close, and nobody needs these servers any more.
    await Promise.all(running.map(({ driver }) => driver.kill()));
    await servers.stop();
  }
}

/** Each on servers of its own, one after the other in each round. @param {Contest} contest @param {number} crowd */
async function alone({ bench, contestants, plan, takesPart }, crowd) {
  const able = contestants.filter(({ name }) => takesPart(name, crowd));
  /** @type {Contestant[]} */
  const all = [];
  for (let round = 0; round < bench.rounds; round++) {
    for (const { name, command, recipe } of able) {
      const servers = await startServers({ count: plan.servers });
      const place = { connect: servers.connect, sessionMs: sessionMs(plan.pace) };
      const driver = await Driver.start(command, { ...place, recipe });
      try {
        await warmUp(name, driver, bench.quick);
        await driver.open(crowd);
        const contestant = new Contestant(name, driver, crowd);
        await goRound([contestant], servers.meter, { ...plan, crowd, quick: bench.quick });
        all.push(contestant);
      } finally {
        await driver.kill();
        await servers.stop();
      }
      bench.say(`${words(plan, crowd)}: round ${round + 1} of ${bench.rounds}, ${name}`);
    }
  }
  const series = able.map(({ name }) => {
    const own = all.filter((each) => each.name === name);
    return {
      name,
      rounds: own.flatMap(({ rounds }) => rounds),
      requests: own.flatMap(({ requests }) => requests),
      notifications: own.flatMap(({ notifications }) => notifications),
    };
  });
  return handovers(plan, crowd, series);
}

/** What compiles while it runs sees everything once before it is timed. @param {import('./finding.mjs').Bench} bench @param {Pace} pace */
function firstRound({ quick }, pace) {
  return pace === 'at once' && !quick ? -1 : 0;
}

/** @param {string} name @param {Driver} driver @param {boolean} quick */
async function warmUp(name, driver, quick) {
  await driver.open(1);
  await driver.cycle(`/warm-${pathOf(name)}`, quick ? QUICK_WARM_UP_CYCLES : WARM_UP_CYCLES);
}

/** @param {readonly Contestant[]} series @param {import('./servers.mjs').Meter} meter @param {Setting & { quick: boolean }} setting */
async function goRound(series, meter, { crowd, pace, quick }) {
  if (pace === 'after a while') await handAfterAWhile(series, meter, pacedHandovers(quick, crowd));
  else
    for (const contestant of series) await contestant.handAtOnce(meter, quick ? QUICK_HANDOVERS : HANDOVERS);
}

/** @param {Plan} plan @param {number} crowd @param {readonly Series[]} series @returns {Handovers} */
function handovers({ servers, pace }, crowd, series) {
  return {
    setting: { servers, crowd, pace },
    series: series.map(({ name, rounds, requests, notifications }) => ({
      name,
      rounds,
      requests,
      notifications,
    })),
  };
}

/** @param {Plan} plan @param {number} crowd */
function words({ servers, pace }, crowd) {
  return `${servers === 1 ? '' : 'three servers, '}${crowd} contenders, ${pace}`;
}

/** @param {string} name */
function pathOf(name) {
  return name.replace(/\W/g, '');
}

/** @param {Pace} pace */
function sessionMs(pace) {
  return pace === 'at once' ? LONG_SESSION_MS : SHORT_SESSION_MS;
}

/** @param {boolean} quick @param {number} crowd */
function pacedHandovers(quick, crowd) {
  if (quick) return Math.min(3, half(crowd));
  return Math.min(crowd > TOGETHER ? 6 : 8, half(crowd));
}

/** Who has handed over stays out, so the line gets shorter: not by more than that. @param {number} crowd */
function half(crowd) {
  return Math.max(2, Math.floor(crowd / 2));
}

/** One that takes part, and what was seen of it. */
class Contestant {
  #crowd;
  #lines = 0;
  /** When its holder has come to hold. */
  #heldAt = 0;
  /** @type {number[][]} */
  rounds = [];
  /** @type {number[]} */
  requests = [];
  /** @type {number[]} */
  notifications = [];

  /** @param {string} name @param {Driver} driver whose sessions are open @param {number} crowd */
  constructor(name, driver, crowd) {
    this.name = name;
    this.driver = driver;
    this.#crowd = crowd;
  }

  forget() {
    this.rounds = [];
    this.requests = [];
    this.notifications = [];
  }

  /** @param {import('./servers.mjs').Meter} meter */
  async formLine(meter) {
    await queueUp(this.driver, meter, this.#newPath(), this.#crowd);
    this.#heldAt = performance.now();
  }

  /**
   * A round of handovers, each right after the one before, and what they cost.
   *
   * @param {import('./servers.mjs').Meter} meter
   * @param {number} count how many are timed
   */
  async handAtOnce(meter, count) {
    const ofLine = Math.min(count, half(this.#crowd));
    /** @type {number[]} */
    const times = [];
    while (times.length < count) {
      await this.formLine(meter);
      const idle = await meter.during(() => pause(IDLE_MS));
      // The first holder, and the one after it, have come to the head of the line as nobody else does.
      times.push(await this.driver.hand());
      await pause(AFTERMATH_MS);
      const began = performance.now();
      const traffic = await meter.during(async () => {
        for (let at = 1; at < ofLine; at++) times.push(await this.driver.hand());
        await pause(AFTERMATH_MS);
      });
      const pings = (idle.requests * (performance.now() - began)) / IDLE_MS;
      this.requests.push((traffic.requests - pings) / (ofLine - 1));
      this.notifications.push(traffic.notifications / (ofLine - 1));
      await this.driver.leave();
    }
    this.rounds.push(times);
  }

  /** Hands over once its holder has held for a while. @param {import('./servers.mjs').Meter} meter */
  async handWhenDue(meter) {
    await pause(Math.max(0, this.#heldAt + HOLD_MS - performance.now()));
    const { notifications } = await meter.during(async () => {
      this.rounds.at(-1)?.push(await this.driver.hand());
      this.#heldAt = performance.now();
      await pause(AFTERMATH_MS);
    });
    this.notifications.push(notifications);
  }

  #newPath() {
    return `/line-${pathOf(this.name)}-${this.#crowd}-${this.#lines++}`;
  }
}

/**
 * A round in which each holds for a while before it hands over. They take turns at each handover, so that their waiting
 * takes place at the same time.
 *
 * @param {readonly Contestant[]} contestants
 * @param {import('./servers.mjs').Meter} meter
 * @param {number} count
 */
async function handAfterAWhile(contestants, meter, count) {
  for (const contestant of contestants) {
    contestant.rounds.push([]);
    await contestant.formLine(meter);
  }
  for (let at = 0; at < count; at++)
    for (const contestant of contestants) await contestant.handWhenDue(meter);
  for (const { driver } of contestants) await driver.leave();
}

export const COLUMNS = [
  'servers',
  'contenders',
  'one handover after the other',
  'who',
  'p50 µs',
  'p99 µs',
  'requests',
  'notifications',
];

/** @param {readonly Handovers[]} measured */
export function rowsOf(measured) {
  return measured.flatMap(({ setting: { servers, crowd, pace }, series }) =>
    series.map(({ name, rounds, requests, notifications }) => {
      const { p50, p99 } = percentiles(rounds);
      return [
        servers,
        crowd,
        pace,
        name,
        rounded(p50, 0),
        rounded(p99, 0),
        requests.length === 0 ? '–' : rounded(mean(requests), 1),
        rounded(mean(notifications), 2),
      ];
    }),
  );
}

/**
 * What has to be so whatever is handed over: the crowd makes no difference.
 *
 * @param {readonly Handovers[]} measured
 * @param {string} name ours
 * @returns {import('./finding.mjs').Bar[]}
 */
export function barsOfCrowds(measured, name) {
  const ours = measured.flatMap(({ setting, series }) =>
    series.filter((each) => each.name === name).map((each) => ({ ...setting, ...each })),
  );
  const off = ours.map(({ notifications }) => Math.abs(mean(notifications) - 1));
  const requests = ours
    .filter((each) => each.requests.length > 0 && each.servers === 1)
    .map((each) => mean(each.requests));
  const paces = /** @type {const} */ (['at once', 'after a while']);
  const growth = paces.flatMap((pace) => {
    const [few, many] = [15, 1000].map((crowd) =>
      ours.find((each) => each.servers === 1 && each.crowd === crowd && each.pace === pace),
    );
    if (few === undefined || many === undefined) return [];
    const measuredRatio = percentiles(many.rounds).p50 / percentiles(few.rounds).p50;
    return [
      { what: `p50 at 1000, times that at 15, ${pace}`, measured: rounded(measuredRatio, 2), bar: 1.2 },
    ];
  });
  return [
    ...growth,
    {
      what: 'notifications a handover, how far from 1 at any number of contenders',
      measured: rounded(Math.max(...off), 2),
      bar: 0,
    },
    {
      what: 'requests a handover, how far apart at different numbers of contenders',
      measured: rounded(Math.max(...requests) - Math.min(...requests), 1),
      bar: 0.1,
    },
  ];
}

/** @param {readonly number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

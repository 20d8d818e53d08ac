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
const AFTERMATH_MS = 40;
const IDLE_MS = 200;

/**
 * @param {import('./finding.mjs').Bench} bench
 * @param {readonly import('./compare.mjs').Found[]} contestants
 * @param {Setting} setting
 * @returns {Promise<Handovers>}
 */
export async function measureHandovers(bench, contestants, setting) {
  const { servers, crowd, pace } = setting;
  const series = contestants.map(({ name }) => new Contestant(name, crowd));
  const say = (/** @type {number} */ round) =>
    bench.say(
      `${servers === 1 ? '' : 'three servers, '}${crowd} contenders, ${pace}: round ${round + 1} of ${bench.rounds}`,
    );
  const measure = pace === 'after a while' && crowd > TOGETHER ? alone : together;
  await measure({ bench, contestants, setting, series, say });
  return {
    setting,
    series: series.map(({ name, rounds, requests, notifications }) => ({
      name,
      rounds,
      requests,
      notifications,
    })),
  };
}

/**
 * @typedef {object} Measurement
 * @property {import('./finding.mjs').Bench} bench
 * @property {readonly import('./compare.mjs').Found[]} contestants
 * @property {Setting} setting
 * @property {Contestant[]} series
 * @property {(round: number) => void} say
 */

/** On the same servers, in turns. @param {Measurement} measurement */
async function together({ bench, contestants, setting, series, say }) {
  const { crowd, pace } = setting;
  const servers = await startServers({ count: setting.servers });
  const running = await startAll(contestants, { connect: servers.connect, sessionMs: sessionMs(pace) });
  const count = bench.quick ? QUICK_HANDOVERS : HANDOVERS;
  try {
    for (const [at, contestant] of series.entries()) {
      const driver = running[at]?.driver;
      if (driver !== undefined) await contestant.begin(driver, bench.quick);
    }
    for (let round = pace === 'at once' && !bench.quick ? -1 : 0; round < bench.rounds; round++) {
      if (pace === 'at once')
        for (const contestant of series) await contestant.handAtOnce(servers.meter, count);
      else await handAfterAWhile(series, servers.meter, pacedHandovers(bench.quick, crowd));
      // What compiles while it runs has seen it once.
      if (round < 0) for (const contestant of series) contestant.forget();
      else say(round);
    }
  } finally {
    // A thousand sessions take some programs a minute to close, and nobody needs these servers any more.
    await Promise.all(running.map(({ driver }) => driver.kill()));
    await servers.stop();
  }
}

/** Each on servers of its own, one after the other in each round. @param {Measurement} measurement */
async function alone({ bench, contestants, setting, series, say }) {
  for (let round = 0; round < bench.rounds; round++) {
    for (const [at, { command, recipe }] of contestants.entries()) {
      const servers = await startServers({ count: setting.servers });
      const place = { connect: servers.connect, sessionMs: sessionMs(setting.pace) };
      const driver = await Driver.start(command, { ...place, recipe });
      const contestant = series.slice(at, at + 1);
      try {
        for (const each of contestant) await each.begin(driver, bench.quick);
        await handAfterAWhile(contestant, servers.meter, pacedHandovers(bench.quick, setting.crowd));
      } finally {
        await driver.kill();
        await servers.stop();
      }
    }
    say(round);
  }
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
  /** @type {Driver | undefined} */
  #driver;
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

  /** @param {string} name @param {number} crowd */
  constructor(name, crowd) {
    this.name = name;
    this.#crowd = crowd;
  }

  get driver() {
    if (this.#driver === undefined) throw new Error(`${this.name} has not begun`);
    return this.#driver;
  }

  /** Opens its sessions, and lets it warm up. @param {Driver} driver @param {boolean} quick */
  async begin(driver, quick) {
    this.#driver = driver;
    await driver.open(this.#crowd);
    await driver.cycle(this.#newPath(), quick ? QUICK_WARM_UP_CYCLES : WARM_UP_CYCLES);
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
    return `/line-${this.name.replace(/\W/g, '')}-${this.#lines++}`;
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

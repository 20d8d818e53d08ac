/** How rows measure handovers, whatever is handed over. */
import { inTurn, pause, queueUp, startAll } from './compare.mjs';
import { Driver } from './driver.mjs';
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
 * @property {number} [sessions] how many are open, where those are more
 *
 * @typedef {object} Plan settings that need the same servers and sessions
 * @property {1 | 3} servers
 * @property {Pace} pace
 * @property {readonly number[]} crowds
 * @property {number} rounds how often the contestants take turns in each of them
 *
 * @typedef {object} Series what was measured of one contestant
 * @property {string} name
 * @property {number[][]} rounds times in microseconds, by round
 * @property {number[]} requests of a handover, on average, by line that was formed
 * @property {number[]} notifications of a handover, by line or handover
 *
 * @typedef {object} Failure a round of a contestant that broke down: nothing of it counts
 * @property {string} name
 * @property {number} round from 1
 * @property {string} reason
 *
 * @typedef {{ setting: Setting, series: Series[], failures: Failure[] }} Handovers
 */

// For those that follow at once: hardly anybody's heartbeats, and looks at a neighbour, fall into what is counted.
const LONG_SESSION_MS = 86_400_000;
// A follower of 3.8.0 was seen to forget a committed request until it was asked something else: here somebody asks before long.
const LONG_WITH_FOLLOWERS_MS = 600_000;
const HANDOVERS = 40;
const QUICK_HANDOVERS = 7;
// For the others: what is done now and then is done by parts of the session timeout.
const SHORT_SESSION_MS = 5000;
const HOLD_MS = 1300;
const PACED_HANDOVERS = 14;
/** Of a crowd that has servers for itself, which take their time to start. */
const PACED_ALONE = 10;
const QUICK_PACED = 3;
/** Beyond it, all contestants' sessions would ping so often that they'd be in each other's way. */
const TOGETHER = 100;
/** Cycles with nobody else there, and lines of {@link WARM_UP_CROWD} that are handed down to their last, at once. */
const WARM_UP = { cycles: 1000, lines: 100 };
const QUICK_WARM_UP = { cycles: 100, lines: 2 };
const WARM_UP_CROWD = 15;
/** What a handover leads to is over by then. */
const AFTERMATH_MS = 100;

/**
 * @typedef {object} Contest
 * @property {import('./finding.mjs').Bench} bench
 * @property {readonly import('./compare.mjs').Found[]} contestants of the floors only those that bound the plan's pace take part
 * @property {Plan} plan
 * @property {(name: string, crowd: number) => boolean} takesPart whether one does in a crowd of that size
 * @property {string} [ours] where each has servers for itself, this one is also measured in the smallest crowd on the servers
 *   of the largest: what differs then is the crowd, and not the servers
 */

/** @param {Contest} contest @returns {Promise<Handovers[]>} */
export async function measureHandovers({ bench, contestants: all, plan, takesPart, ours }) {
  const contestants = all.filter(({ floor }) => floor === undefined || floor === plan.pace);
  const contest = { bench, contestants, takesPart, ours };
  if (plan.pace === 'at once') return await together({ ...contest, plan });
  const few = plan.crowds.filter((crowd) => crowd <= TOGETHER);
  const measured = few.length === 0 ? [] : await together({ ...contest, plan: { ...plan, crowds: few } });
  for (const crowd of plan.crowds.filter((each) => each > TOGETHER))
    measured.push(...(await alone({ ...contest, plan }, crowd)));
  return measured;
}

/** All on the same servers, in turns. @param {Contest} contest @returns {Promise<Handovers[]>} */
async function together({ bench, contestants, plan, takesPart }) {
  const servers = await startServers({ count: plan.servers });
  const place = { connect: servers.connect, sessionMs: sessionMs(plan) };
  const running = await startAll(contestants, place);
  try {
    for (const { name, driver } of running) await warmUp(name, driver, bench.quick);
    bench.say(`${words(plan)}: warm`);
    const measured = [];
    for (const crowd of plan.crowds) {
      const series = running
        .filter(({ name }) => takesPart(name, crowd))
        .map(({ name, driver }) => new Contestant(name, driver, crowd));
      for (const { driver } of series) await driver.open(crowd);
      /** @type {Failure[]} */
      let failures = [];
      for (let round = 0; round < plan.rounds && failures.length === 0; round++) {
        try {
          await goRound(inTurn(series, round), servers.meter, { ...plan, crowd, quick: bench.quick });
        } catch (error) {
          failures = brokenDown(series, round);
          if (failures.length === 0) throw error;
        }
        bench.say(`${words(plan, crowd)}: round ${round + 1} of ${plan.rounds}`);
      }
      measured.push(handovers(plan, crowd, series, failures));
      if (failures.length > 0) break; // Whoever broke down isn't there any more: what is measured stands.
    }
    return measured;
  } finally {
    // A thousand sessions take some programs a minute to close, and nobody needs these servers any more.
    await Promise.all(running.map(({ driver }) => driver.kill()));
    await servers.stop();
  }
}

/**
 * Whose programs have ended in a round, which is left out for all: they take turns in it.
 *
 * @param {readonly Contestant[]} series
 * @param {number} round from 0
 * @returns {Failure[]}
 */
function brokenDown(series, round) {
  for (const { rounds } of series) rounds.splice(round);
  return series.flatMap(({ name, driver: { end } }) =>
    end === undefined ? [] : [{ name, round: round + 1, reason: end.message.trim() }],
  );
}

/**
 * Each on servers of its own, one after the other in each round. Where one breaks down, a session of a thousand was lost
 * say, its round is left out, and told of: the others have nothing to do with it.
 *
 * @param {Contest} contest
 * @param {number} crowd
 * @returns {Promise<Handovers[]>}
 */
async function alone({ bench, contestants, plan, takesPart, ours }, crowd) {
  const [few = crowd] = plan.crowds;
  const able = contestants.filter(({ name }) => takesPart(name, crowd));
  /** @type {Contestant[]} */
  const all = [];
  /** @type {Failure[]} */
  const failures = [];
  for (let round = 0; round < plan.rounds; round++) {
    for (const { name, command, recipe } of able) {
      const servers = await startServers({ count: plan.servers });
      const place = { connect: servers.connect, sessionMs: sessionMs(plan) };
      const driver = await Driver.start(command, { ...place, recipe });
      try {
        await warmUp(name, driver, bench.quick);
        await driver.open(crowd);
        const crowds = name === ours && few < crowd ? [few, crowd] : [crowd];
        if (round % 2 === 0) crowds.reverse(); // In turns: servers get warmer.
        for (const size of crowds) {
          const contestant = new Contestant(name, driver, size);
          await goRound([contestant], servers.meter, { ...plan, crowd: size, quick: bench.quick });
          all.push(contestant);
        }
      } catch (error) {
        const reason = error instanceof Error ? error.message.trim() : String(error);
        failures.push({ name, round: round + 1, reason });
        bench.say(`${name} failed: ${reason}`);
      } finally {
        await driver.kill();
        await servers.stop();
      }
      bench.say(`${words(plan, crowd)}: round ${round + 1} of ${plan.rounds}, ${name}`);
    }
  }
  const seriesOf = (/** @type {number} */ size) =>
    able.map(({ name }) => {
      const own = all.filter((each) => each.name === name && each.crowd === size);
      return {
        name,
        rounds: own.flatMap(({ rounds }) => rounds),
        requests: own.flatMap(({ requests }) => requests),
        notifications: own.flatMap(({ notifications }) => notifications),
      };
    });
  const largest = handovers(plan, crowd, seriesOf(crowd), failures);
  if (few === crowd || !able.some(({ name }) => name === ours)) return [largest];
  const smallest = handovers(plan, few, seriesOf(few), []);
  return [largest, { ...smallest, setting: { ...smallest.setting, sessions: crowd } }];
}

/**
 * What compiles while it runs does so after hundreds of times, and only what it has run: so waiting and handing over come
 * before anything is timed, as often for each.
 *
 * @param {string} name
 * @param {Driver} driver
 * @param {boolean} quick
 */
async function warmUp(name, driver, quick) {
  const { cycles, lines } = quick ? QUICK_WARM_UP : WARM_UP;
  const path = `/warm-${pathOf(name)}`;
  await driver.open(WARM_UP_CROWD);
  await driver.cycle(path, cycles);
  for (let line = 0; line < lines; line++) {
    await driver.queue(`${path}-${line}`, WARM_UP_CROWD);
    for (let waiting = WARM_UP_CROWD - 1; waiting > 0; waiting--) await driver.hand();
    await driver.leave();
  }
}

/** @param {readonly Contestant[]} series @param {import('./meter.mjs').Meter} meter @param {Setting & { quick: boolean }} setting */
async function goRound(series, meter, { crowd, pace, quick }) {
  const paced = quick ? QUICK_PACED : crowd > TOGETHER ? PACED_ALONE : PACED_HANDOVERS;
  if (pace === 'after a while') await handAfterAWhile(series, meter, paced, half(crowd));
  else
    for (const contestant of series) await contestant.handAtOnce(meter, quick ? QUICK_HANDOVERS : HANDOVERS);
}

/**
 * @param {Plan} plan
 * @param {number} crowd
 * @param {readonly Series[]} series
 * @param {Failure[]} failures
 * @returns {Handovers}
 */
function handovers({ servers, pace }, crowd, series, failures) {
  return {
    setting: { servers, crowd, pace },
    series: series
      .filter(({ rounds }) => rounds.length > 0)
      .map(({ name, rounds, requests, notifications }) => ({
        name,
        rounds,
        requests,
        notifications,
      })),
    failures,
  };
}

/** @param {Plan} plan @param {number} [crowd] */
function words({ servers, pace }, crowd) {
  const contenders = crowd === undefined ? '' : `${crowd} contenders, `;
  return `${servers === 1 ? '' : 'three servers, '}${contenders}${pace}`;
}

/** @param {string} name */
function pathOf(name) {
  return name.replace(/\W/g, '');
}

/** @param {Plan} plan */
function sessionMs({ pace, servers }) {
  if (pace === 'after a while') return SHORT_SESSION_MS;
  return servers === 1 ? LONG_SESSION_MS : LONG_WITH_FOLLOWERS_MS;
}

/** Who has handed over stays out, so the line gets shorter: not by more than that. @param {number} crowd */
function half(crowd) {
  return Math.max(2, Math.floor(crowd / 2));
}

/** One that takes part, and what was seen of it. */
class Contestant {
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
    this.crowd = crowd;
  }

  /** @param {import('./meter.mjs').Meter} meter */
  async formLine(meter) {
    await queueUp(this.driver, meter, this.#newPath(), this.crowd);
    this.#heldAt = performance.now();
  }

  /**
   * A round of handovers, each right after the one before, and what they cost.
   *
   * @param {import('./meter.mjs').Meter} meter
   * @param {number} count how many are timed
   */
  async handAtOnce(meter, count) {
    const ofLine = Math.min(count, half(this.crowd));
    /** @type {number[]} */
    const times = [];
    while (times.length < count) {
      await this.formLine(meter);
      // The first holder, and the one after it, have come to the head of the line as nobody else does.
      times.push(await this.driver.hand());
      await pause(AFTERMATH_MS);
      let notifications = 0;
      const requests = await meter.operationsDuring(async () => {
        ({ notifications } = await meter.during(async () => {
          for (let at = 1; at < ofLine; at++) times.push(await this.driver.hand());
          await pause(AFTERMATH_MS);
        }));
      });
      this.requests.push(requests / (ofLine - 1));
      this.notifications.push(notifications / (ofLine - 1));
      await this.driver.leave();
    }
    this.rounds.push(times);
  }

  /** Hands over once its holder has held for a while. @param {import('./meter.mjs').Meter} meter */
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
    return `/line-${pathOf(this.name)}-${this.crowd}-${this.#lines++}`;
  }
}

/**
 * A round in which each holds for a while before it hands over. They take turns at each handover, so that their waiting
 * takes place at the same time.
 *
 * @param {readonly Contestant[]} contestants
 * @param {import('./meter.mjs').Meter} meter
 * @param {number} count how many are timed of each
 * @param {number} ofLine how many of them at most in one line
 */
async function handAfterAWhile(contestants, meter, count, ofLine) {
  for (const { rounds } of contestants) rounds.push([]);
  for (let left = count; left > 0; left -= ofLine) {
    for (const contestant of contestants) await contestant.formLine(meter);
    for (let at = 0; at < Math.min(left, ofLine); at++)
      for (const contestant of contestants) await contestant.handWhenDue(meter);
    for (const { driver } of contestants) await driver.leave();
  }
}

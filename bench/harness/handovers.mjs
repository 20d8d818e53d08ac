/** Measures handovers of locks and elections. */
import { setTimeout as pause } from 'node:timers/promises';
import { inTurn, queueUp, startAll } from './compare.mjs';
import { Driver } from './driver.mjs';
import { AWAY } from './links.mjs';
import { startServers } from './servers.mjs';

/**
 * How soon one handover follows another. `at once`: the next contender has not noticed yet that it is next. `after a while`:
 * it has noticed.
 *
 * @typedef {'at once' | 'after a while'} Pace
 *
 * @typedef {object} Setting
 * @property {1 | 3} servers
 * @property {number} crowd the number of contenders, each with a session of its own
 * @property {Pace} pace
 * @property {boolean} [isAway] whether the servers are reached as if on another host
 * @property {number} [sessions] the number of open sessions, if there are more than contenders
 *
 * @typedef {object} Plan settings that need the same servers and sessions
 * @property {1 | 3} servers
 * @property {Pace} pace
 * @property {boolean} [isAway]
 * @property {readonly number[]} crowds
 * @property {number} rounds how often the contestants take turns in each setting
 *
 * @typedef {object} Series the measurements of one contestant
 * @property {string} name
 * @property {number[][]} rounds times in microseconds, by round
 * @property {number[]} requests the requests of a handover, on average, for each queue
 * @property {number[]} notifications the notifications of a handover, for each queue or handover
 *
 * @typedef {object} Failure a round that is left out, because a contestant's program failed in it
 * @property {string} name
 * @property {number} round from 1
 * @property {string} reason
 *
 * @typedef {{ setting: Setting, series: Series[], failures: Failure[], notes: readonly string[] }} Handovers `notes`: of the servers
 */

// For handovers at once. The timeout is so long that hardly any heartbeat or existence probe is counted.
const LONG_SESSION_MS = 86_400_000;
// A follower of ZooKeeper 3.8.0 sometimes forgets a committed request until it gets another one. With this timeout it gets one soon.
const LONG_WITH_FOLLOWERS_MS = 30_000;
const HANDOVERS = 40;
const QUICK_HANDOVERS = 7;
// For handovers after a while. Periodic requests depend on the session timeout.
const SHORT_SESSION_MS = 5000;
const HOLD_MS = 1300;
const PACED_HANDOVERS = 14;
/** For a contestant with servers of its own, because these take time to start. */
const PACED_ALONE = 10;
const QUICK_PACED = 3;
/** Up to this number of contenders, contestants share servers. With more, the pings of all their sessions would disturb the measurement. */
const TOGETHER = 100;
/** Uncontended cycles, and queues of {@link WARM_UP_CROWD} that are handed over at once down to the last contender. */
const WARM_UP = { cycles: 1000, lines: 100 };
const QUICK_WARM_UP = { cycles: 100, lines: 2 };
const WARM_UP_CROWD = 15;
/** After this time all requests that follow from a handover are done. */
const AFTERMATH_MS = 100;

/**
 * @typedef {object} Contest
 * @property {import('./finding.mjs').Bench} bench
 * @property {readonly import('./compare.mjs').Found[]} contestants of the lower bounds only those for the plan's pace take part
 * @property {Plan} plan
 * @property {(name: string, crowd: number) => boolean} takesPart whether a contestant takes part with that number of contenders
 * @property {string} [ours] where each contestant has servers of its own, this contestant is also measured with the fewest contenders
 *   on the servers for the most, so that only the number of contenders differs
 */

/** @param {Contest} contest @returns {Promise<Handovers[]>} */
export async function measureHandovers({ bench, contestants: all, plan, takesPart, ours }) {
  const contestants = all.filter(({ lowerBound }) => lowerBound === undefined || lowerBound === plan.pace);
  const contest = { bench, contestants, takesPart, ours };
  if (plan.pace === 'at once') return await together({ ...contest, plan });
  const few = plan.crowds.filter((crowd) => crowd <= TOGETHER);
  const measured = few.length === 0 ? [] : await together({ ...contest, plan: { ...plan, crowds: few } });
  for (const crowd of plan.crowds.filter((each) => each > TOGETHER))
    measured.push(...(await alone({ ...contest, plan }, crowd)));
  return measured;
}

/** Measures all contestants on the same servers, in turns. @param {Contest} contest @returns {Promise<Handovers[]>} */
async function together({ bench, contestants, plan, takesPart }) {
  const servers = await startServers({ count: plan.servers, isAway: plan.isAway });
  const place = { connect: servers.connect, sessionMs: sessionMs(plan) };
  const running = await startAll(contestants, place);
  try {
    for (const { name, driver } of running) await warmUp(name, driver, bench.quick);
    bench.say(`${words(plan)}: warmed up`);
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
      measured.push(handovers(plan, crowd, series, failures, servers.notes));
      if (failures.length > 0) break; // The failed program has ended. Earlier measurements count.
    }
    return measured;
  } finally {
    // Killed, because some programs take a minute to close a thousand sessions.
    await Promise.all(running.map(({ driver }) => driver.kill()));
    await servers.stop();
  }
}

/**
 * The contestants whose programs have ended in a round. The round is left out for all, because they take turns in it.
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
 * Measures each contestant on servers of its own, one after the other in each round. If a contestant's program fails, for
 * example because one of a thousand sessions is lost, only its own round is left out, and reported.
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
        if (round % 2 === 0) crowds.reverse(); // The order alternates, because servers become faster.
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
 * A just-in-time compiler compiles code after hundreds of calls, and only code that runs. So each contestant waits and hands
 * over the same number of times before the timing begins.
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
 * @param {readonly string[]} [notes]
 * @returns {Handovers}
 */
function handovers({ servers, pace, isAway }, crowd, series, failures, notes = []) {
  return {
    setting: { servers, crowd, pace, ...(isAway && { isAway }) },
    series: series
      .filter(({ rounds }) => rounds.length > 0)
      .map(({ name, rounds, requests, notifications }) => ({
        name,
        rounds,
        requests,
        notifications,
      })),
    failures,
    notes,
  };
}

/** @param {Plan} plan @param {number} [crowd] */
function words({ servers, pace, isAway }, crowd) {
  const contenders = crowd === undefined ? '' : `${crowd} contenders, `;
  return `${servers === 1 ? '' : 'three servers, '}${isAway ? `${AWAY}, ` : ''}${contenders}${pace}`;
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

/** The most contenders of a queue that hand over. They don't join again, so the queue gets shorter. @param {number} crowd */
function half(crowd) {
  return Math.max(2, Math.floor(crowd / 2));
}

/** A contestant in one setting, with its measurements. */
class Contestant {
  #lines = 0;
  /** When the holder began to hold. */
  #heldAt = 0;
  /** @type {number[][]} */
  rounds = [];
  /** @type {number[]} */
  requests = [];
  /** @type {number[]} */
  notifications = [];

  /** @param {string} name @param {Driver} driver with open sessions @param {number} crowd */
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
   * Measures a round of handovers, each right after the one before, and their requests and notifications.
   *
   * @param {import('./meter.mjs').Meter} meter
   * @param {number} count the number of timed handovers
   */
  async handAtOnce(meter, count) {
    const ofLine = Math.min(count, half(this.crowd));
    /** @type {number[]} */
    const times = [];
    while (times.length < count) {
      await this.formLine(meter);
      // Its requests aren't counted: unlike all others, the first two contenders did not come to the head of the queue by a handover.
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

  /** Hands over when the holder has held for a while. @param {import('./meter.mjs').Meter} meter */
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
 * Measures a round in which each holder holds for a while before it hands over. The contestants take turns at each handover,
 * so that all of them wait at the same time.
 *
 * @param {readonly Contestant[]} contestants
 * @param {import('./meter.mjs').Meter} meter
 * @param {number} count the number of timed handovers of each contestant
 * @param {number} ofLine the number of handovers in one queue, at most
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

import { chosen, pause, settled } from '../harness/compare.mjs';
import { Driver } from '../harness/driver.mjs';
import { median, quantile, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';

const SESSION_MS = 2000;
const OURS = 'Conclave election';
const WITHOUT_DELAY = 'Conclave election, takeoverDelayMs: 0';
/** What fewer heartbeats would gain: servers count from the last request of a session. */
const RARELY = 'Conclave election, takeoverDelayMs: 0, fewer heartbeats';
const RIVAL = 'Curator LeaderLatch';
const LEAST_ROUNDS = 15;
// Servers expire sessions at each tick, so it matters when in a tick they received the last request.
const PHASES_MS = 500;

/**
 * Measures the time until another process leads or holds after the leader's process was killed, without a guardian.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
 */
export default async function unguardedFailover(bench) {
  const rounds = bench.quick ? 1 : Math.max(bench.rounds, LEAST_ROUNDS);
  const servers = await startServers();
  const successions = contestantsOf(bench).map(
    (contestant, at) => new Succession(contestant, servers, `/failover-${at}`),
  );
  try {
    for (let round = 0; round < rounds; round++) {
      for (const succession of successions) await succession.prepare();
      const phaseMs = (round * PHASES_MS) / rounds;
      // The processes are killed one after the other, and their successors are awaited at the same time.
      await Promise.all(
        successions.map(async (succession, at) => {
          await pause((at * PHASES_MS) / successions.length + phaseMs);
          await succession.fail();
        }),
      );
      bench.say(`${successions.length} leaders killed: round ${round + 1} of ${rounds}`);
    }
  } finally {
    await Promise.all(successions.map((succession) => succession.end()));
    await servers.stop();
  }
  return report(successions.map(({ name, tookMs }) => ({ name, tookMs })));
}

/** @param {import('../harness/finding.mjs').Bench} bench */
function contestantsOf(bench) {
  // In a quick run only contestants with a bar.
  const suits = (/** @type {import('../harness/contestants.mjs').Contestant} */ { name, kind, lowerBound }) =>
    lowerBound === undefined && (bench.quick ? kind === 'election' : name !== 'raw');
  return chosen(bench, suits).flatMap((contestant) => {
    if (contestant.name !== OURS) return [contestant];
    return [
      contestant,
      { ...contestant, name: WITHOUT_DELAY, recipe: 'election-0' },
      { ...contestant, name: RARELY, recipe: 'election-0-rare' },
    ];
  });
}

/** Programs of one contestant: one holds and one waits, again and again. */
class Succession {
  #contestant;
  #servers;
  #path;
  /** @type {Driver | undefined} */
  #leader;
  /** @type {Driver | undefined} */
  #next;
  /** @type {number[]} */
  tookMs = [];

  /**
   * @param {import('../harness/compare.mjs').Found} contestant
   * @param {Awaited<ReturnType<typeof startServers>>} servers
   * @param {string} path
   */
  constructor(contestant, servers, path) {
    this.#contestant = contestant;
    this.#servers = servers;
    this.#path = path;
    this.name = contestant.name;
  }

  async prepare() {
    this.#leader ??= await this.#stand();
    await this.#leader.held;
    const before = await this.#servers.meter.holdings();
    this.#next = await this.#stand();
    // Both have a node now, and the second watches that of the first.
    await settled(this.#servers.meter, { ...before, watches: before.watches + 1 }, 1);
  }

  async #stand() {
    const { command, recipe } = this.#contestant;
    const place = { connect: this.#servers.connect, sessionMs: SESSION_MS };
    const driver = await Driver.start(command, { ...place, recipe });
    try {
      await driver.open(1);
      await driver.stand(this.#path);
      return driver;
    } catch (error) {
      await driver.kill();
      throw error;
    }
  }

  async fail() {
    const [former, next] = [this.#leader, this.#next];
    if (former === undefined || next === undefined) throw new Error('no leader or successor was prepared');
    const killedAt = performance.now();
    await former.kill();
    this.tookMs.push((await next.held) - killedAt);
    this.#leader = next;
    this.#next = undefined;
  }

  async end() {
    await Promise.all([this.#leader?.kill(), this.#next?.kill()]);
  }
}

/** @typedef {{ name: string, tookMs: number[] }} Times */

/** @param {readonly Times[]} times @returns {import('../harness/finding.mjs').Finding} */
function report(times) {
  return {
    id: 'unguarded-failover',
    title: "Failover after kill -9 of the leader's process, without a guardian",
    columns: ['who', 'rounds', 'p50 ms', 'shortest ms', 'longest ms'],
    table: times.map(({ name, tookMs }) => [
      name,
      tookMs.length,
      ...[median(tookMs), quantile(tookMs, 0), quantile(tookMs, 1)].map((ms) => rounded(ms, 0)),
    ]),
    bars: barsOf(times),
    notes: [
      `Session timeouts of ${SESSION_MS / 1000} s, ticks of 0.5 s, one server; from the kill until another process says that it holds.`,
      'A leader of ours sends four heartbeats in a lease, so twelve in a session timeout; where there are fewer, the lease is five sixths of the session timeout, so there are 4.8. Pings of Java come three times in it.',
      'Conclave waits for the takeover delay beyond the end of the session, so that the former leader has surely noticed; no peer does. With `takeoverDelayMs: 0` it does as they do.',
    ],
    data: times,
  };
}

/** @param {readonly Times[]} times */
function barsOf(times) {
  const [ours, theirs] = [WITHOUT_DELAY, RIVAL].map((name) => times.find((each) => each.name === name));
  if (ours === undefined || theirs === undefined) return [];
  const measured = rounded(median(ours.tookMs), 0);
  return [
    {
      what: `p50 with takeoverDelayMs: 0, against ${RIVAL}'s`,
      measured,
      bar: rounded(median(theirs.tookMs), 0),
      unit: 'ms',
    },
  ];
}

/**
 * What a handover costs the servers, and how long it takes, by three strategies: `npm run build && node bench/strategies.mjs
 * [--contenders 2,15,100] [--rounds 200]`. `bench/strategies/README.md` says what they are and what was seen.
 *
 * All contenders of all strategies are there at the same time, each on a session of its own, and the strategies take
 * turns, one handover each. Requests and notifications are counted by the server.
 */
import { parseArgs } from 'node:util';
import { fourLetterWord, startZooKeeper } from '../scripts/zookeeper.mjs';
import { RawClient } from './strategies/raw-client.mjs';
import { sameNode } from './strategies/same-node.mjs';
import { watchParent } from './strategies/watch-parent.mjs';
import { watchPredecessor } from './strategies/watch-predecessor.mjs';

/** @import { Contender, Strategy } from './strategies/contender.js' */
/** @typedef {{ requests: number, notifications: number }} Traffic */

const { values } = parseArgs({
  options: {
    contenders: { type: 'string', default: '2,15,100' },
    rounds: { type: 'string', default: '200' },
  },
});
const CROWDS = values.contenders.split(',').map(Number);
const ROUNDS = Number(values.rounds);
if (![...CROWDS, ROUNDS].every((count) => Number.isInteger(count) && count > 0) || CROWDS.includes(1)) {
  throw new Error('expected --contenders 2,15,100 (each 2 or more) and --rounds 200 (1 or more)');
}
// So long that nobody's pings and heartbeats fall into what is counted.
const SESSION_MS = 600_000;
const QUIET_MS = 15;
const WARM_UP = 10;

/** @type {Record<string, Strategy>} */
const STRATEGIES = {
  'all create the same node': sameNode,
  'all watch the parent': watchParent,
  'each watches the one ahead (Conclave)': watchPredecessor,
};

/** What the server has received and sent, without these questions themselves. */
class Meter {
  /** @type {number} */
  #port;
  #questions = 0;
  /** What one question adds to what the next one shows. */
  #received = 0;
  #sent = 0;

  /** @param {number} port */
  constructor(port) {
    this.#port = port;
  }

  /** Finds out what a question costs, while nobody else asks anything. */
  async calibrate() {
    const [one, two, three] = [await this.#ask(), await this.#ask(), await this.#ask()];
    this.#received = two.received - one.received;
    this.#sent = two.sent - one.sent;
    if (three.received - two.received !== this.#received || three.sent - two.sent !== this.#sent) {
      throw new Error('a question does not always cost the same: the server is busy with something else');
    }
  }

  async #ask() {
    // Its counts are those of `mntr`, but that one's answer is so long that it is sent in more or fewer packets.
    const report = await fourLetterWord(this.#port, 'srvr');
    /** @param {string} name */
    const packets = (name) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(report)?.[1]);
    return { received: packets('Received'), sent: packets('Sent'), asked: this.#questions++ };
  }

  /** @returns {Promise<Traffic>} since some time before */
  async read() {
    const { received, sent, asked } = await this.#ask();
    const requests = received - asked * this.#received;
    // Each request has one reply; whatever else was sent is a notification.
    return { requests, notifications: sent - asked * this.#sent - requests };
  }

  /** Resolves when the server has had nothing to do for a moment. */
  async quiet() {
    let last = await this.read();
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
      const now = await this.read();
      if (now.requests === last.requests && now.notifications === last.notifications) return now;
      last = now;
    }
  }
}

/** A strategy at work: one leads, all others wait. */
class Contest {
  /** @type {Contender[]} */
  #contenders = [];
  /** @type {Contender | undefined} */
  #leader;
  #ledFrom = 0;
  /** @type {() => void} */
  #led = () => undefined;
  /** @type {Meter} */
  #meter;
  /** @type {number[]} */
  timesUs = [];
  /** @type {Traffic[]} */
  handovers = [];
  /** @type {Traffic[]} */
  joins = [];

  /** @param {Meter} meter */
  constructor(meter) {
    this.#meter = meter;
  }

  /**
   * @param {Strategy} strategy
   * @param {{ connect: string, path: string, contenders: number }} place
   */
  async open(strategy, { connect, path, contenders }) {
    const onLead = (/** @type {Contender} */ contender) => {
      this.#ledFrom = performance.now();
      this.#leader = contender;
      this.#led();
    };
    for (let index = 0; index < contenders; index++) {
      const contender = await strategy({ connect, path, sessionTimeoutMs: SESSION_MS, onLead });
      this.#contenders.push(contender);
      await contender.join();
    }
  }

  /** The leader gives up, somebody else takes over, and the former leader joins again. */
  async handOver() {
    const former = this.#leader;
    if (former === undefined) throw new Error('nobody leads');
    /** @type {Promise<void>} */
    const led = new Promise((resolve) => {
      this.#led = resolve;
    });
    const before = await this.#meter.quiet();
    const releasedAt = performance.now();
    await Promise.all([former.release(), led]);
    const between = await this.#meter.quiet();
    await former.join();
    const after = await this.#meter.quiet();
    this.timesUs.push((this.#ledFrom - releasedAt) * 1000);
    this.handovers.push(difference(between, before));
    this.joins.push(difference(after, between));
  }

  forget() {
    this.timesUs = [];
    this.handovers = [];
    this.joins = [];
  }

  async close() {
    await Promise.all(this.#contenders.map((contender) => contender.close()));
  }
}

/** @param {Traffic} after @param {Traffic} before @returns {Traffic} */
function difference(after, before) {
  return {
    requests: after.requests - before.requests,
    notifications: after.notifications - before.notifications,
  };
}

/** @param {number[]} values @param {number} share */
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return /** @type {number} */ (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
}

/** @param {Traffic[]} traffic @returns {string} means */
function each(traffic) {
  /** @param {keyof Traffic} key */
  const mean = (key) => (traffic.reduce((sum, one) => sum + one[key], 0) / traffic.length).toFixed(1);
  return `${mean('requests')} / ${mean('notifications')}`;
}

/** @param {{ connect: string, meter: Meter, contenders: number }} options */
async function compare({ connect, meter, contenders }) {
  const client = await RawClient.open(connect, SESSION_MS);
  /** @type {Map<string, Contest>} */
  const contests = new Map();
  try {
    for (const [index, [name, strategy]] of Object.entries(STRATEGIES).entries()) {
      const path = `/strategy-${contenders}-${index}`;
      await client.createPersistent(path);
      const contest = new Contest(meter);
      contests.set(name, contest);
      await contest.open(strategy, { connect, path, contenders });
    }
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      if (round === 0) for (const contest of contests.values()) contest.forget();
      for (const contest of contests.values()) await contest.handOver();
    }
    for (const [name, { timesUs, handovers, joins }] of contests) {
      const times = [0.5, 0.99].map((share) => quantile(timesUs, share).toFixed(0)).join(' / ');
      console.log(`| ${contenders} | ${name} | ${times} | ${each(handovers)} | ${each(joins)} |`);
    }
  } finally {
    await Promise.all([...contests.values()].map((contest) => contest.close()));
    await client.close();
  }
}

const { servers, connectString, stop } = await startZooKeeper({
  settings: { maxSessionTimeout: SESSION_MS },
});
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => void stop().finally(() => process.exit(1)));
}
try {
  const [server] = servers;
  if (server === undefined) throw new Error('there is no server');
  console.log(`${(await fourLetterWord(server.port, 'srvr')).split('\n')[0]}, ${ROUNDS} handovers each\n`);
  console.log(
    '| contenders | strategy | handover p50 / p99 µs | its requests / notifications | those of a join |',
  );
  console.log('|---|---|---|---|---|');
  const meter = new Meter(server.port);
  await meter.calibrate();
  for (const contenders of CROWDS) await compare({ connect: connectString, meter, contenders });
} finally {
  await stop();
}

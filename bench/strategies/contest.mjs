/** The strategies side by side, on one server: all contenders of all of them are there, and the strategies take turns. */
import { fourLetterWord } from '../../tools/zookeeper/four-letter-word.mjs';
import { RawClient } from './raw-client.mjs';
import { sameNode } from './same-node.mjs';
import { watchParent } from './watch-parent.mjs';
import { watchPredecessor } from './watch-predecessor.mjs';

/** @import { Contender, Strategy } from './contender.js' */
/** @typedef {{ requests: number, notifications: number }} Traffic */

// So long that nobody's pings and heartbeats fall into what is counted.
export const SESSION_MS = 600_000;
const QUIET_MS = 15;
const WARM_UP = 10;

/** @type {Record<string, Strategy>} */
const STRATEGIES = {
  'all create the same node': sameNode,
  'all watch the parent': watchParent,
  'each watches the one ahead (Conclave)': watchPredecessor,
};

/** What the server has received and sent, without these questions themselves. */
export class Meter {
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

/**
 * @typedef {object} Costs of a strategy
 * @property {string} name
 * @property {number} contenders
 * @property {number[]} timesUs of each handover
 * @property {Traffic[]} handovers
 * @property {Traffic[]} joins
 */

/**
 * @param {{ connect: string, meter: Meter, contenders: number, rounds: number }} options
 * @returns {Promise<Costs[]>}
 */
export async function compare({ connect, meter, contenders, rounds }) {
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
    for (let round = -WARM_UP; round < rounds; round++) {
      if (round === 0) for (const contest of contests.values()) contest.forget();
      for (const contest of contests.values()) await contest.handOver();
    }
    return [...contests].map(([name, { timesUs, handovers, joins }]) => ({
      name,
      contenders,
      timesUs,
      handovers,
      joins,
    }));
  } finally {
    await Promise.all([...contests.values()].map((contest) => contest.close()));
    await client.close();
  }
}

/** @param {readonly Traffic[]} traffic @returns {Traffic} of one, on average */
export function mean(traffic) {
  /** @param {keyof Traffic} key */
  const of = (key) => traffic.reduce((sum, one) => sum + one[key], 0) / traffic.length;
  return { requests: of('requests'), notifications: of('notifications') };
}

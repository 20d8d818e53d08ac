/** Compares strategies on one server: the contenders of all strategies wait there, and the strategies take turns. */
import { RawClient } from './raw-client.mjs';
import { sameNode } from './same-node.mjs';
import { watchParent } from './watch-parent.mjs';
import { watchPredecessor } from './watch-predecessor.mjs';

/** @import { Contender, Strategy } from './contender.js' */
/** @import { Meter, Traffic } from '../harness/meter.mjs' */

// The timeout is so long that the server counts no pings and heartbeats.
export const SESSION_MS = 600_000;
const WARM_UP = 10;

/** @type {Record<string, Strategy>} */
const STRATEGIES = {
  'all create the same node': sameNode,
  'all watch the parent': watchParent,
  'each watches the one ahead (Conclave)': watchPredecessor,
};

/** The contenders of one strategy: one leads, the others wait. */
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

  /** Lets the leader release and another contender take over. Then the former leader joins again. */
  async handOver() {
    const former = this.#leader;
    if (former === undefined) throw new Error('no contender leads');
    /** @type {Promise<void>} */
    const led = new Promise((resolve) => {
      this.#led = resolve;
    });
    await this.#meter.quiet();
    const handover = await this.#meter.during(async () => {
      const releasedAt = performance.now();
      await Promise.all([former.release(), led]);
      this.timesUs.push((this.#ledFrom - releasedAt) * 1000);
      await this.#meter.quiet();
    });
    const join = await this.#meter.during(async () => {
      await former.join();
      await this.#meter.quiet();
    });
    this.handovers.push(handover);
    this.joins.push(join);
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

/**
 * @typedef {object} Costs the measurements of a strategy
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

/** @param {readonly Traffic[]} traffic @returns {Traffic} the means */
export function mean(traffic) {
  /** @param {keyof Traffic} key */
  const of = (key) => traffic.reduce((sum, one) => sum + one[key], 0) / traffic.length;
  return { requests: of('requests'), notifications: of('notifications') };
}

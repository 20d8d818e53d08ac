/**
 * Simulates a group of shards in storms of 1,000 members that join, leave, die and are restarted:
 * `npm run build && node bench/studies/membership-storms.mjs [--members 1000] [--shards 16384] [--seed 1]`.
 *
 * The study runs `plan`, and the planner's rules of when to plan. It has no servers, and time is simulated. After a join, the planner waits
 * `settleMs` for more joins, ten times as long at most. It plans at once when a member leaves, or comes back within its grace. It learns of
 * a dead member when the takeover delay of that member's lease is over. Members carry a plan out at once. In the column `each change by
 * itself`, the planner plans after each change, whatever else is about to come.
 */
import { parseArgs } from 'node:util';
import { plan } from 'conclave';

const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '1000' },
    shards: { type: 'string', default: '16384' },
    seed: { type: 'string', default: '1' },
  },
});
const [MEMBERS = 0, SHARDS = 0, SEED = 0] = [values.members, values.shards, values.seed].map(Number);
if (![MEMBERS, SHARDS, SEED].every((each) => Number.isInteger(each) && each > 0))
  throw new Error('expected --members 1000, --shards 16384 and --seed 1, each a whole number over 0');

const SETTLE_MS = 200;
const LONGEST_SETTLING = 10; // Times `settleMs`.
const BURIED_MS = 2110; // The takeover delay of a lease of two seconds.
const HOME_MS = 60_000;
const SHARD_IDS = Array.from({ length: SHARDS }, (_, at) => String(at));

/**
 * @typedef {{ atMs: number, kind: 'joins' | 'leaves' | 'dies', id: string }} Event
 * @typedef {{ atMs: number, kind: Event['kind'] | 'is buried' | 'is awaited no more', id: string }} Happening
 * @typedef {{ settleMs: number, graceMs: number }} Rules
 * @typedef {{ plans: number, moves: number, worst: number, end: number, waits: number[] }} Outcome
 */

/** Numbers from 0 to 1, the same for the same seed. @param {number} seed */
function randomFrom(seed) {
  let state = seed;
  return () => {
    // Mulberry32.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A group whose members come and go, and whose moves are counted. */
class Group {
  #rules;
  /** @type {Set<string>} */
  #live = new Set();
  /** The members that have died unnoticed, and when they died. @type {Map<string, number>} */
  #dead = new Map();
  /** The members that have left in good order, and count during their grace. @type {Set<string>} */
  #awaited = new Set();
  /** The live member that owns each shard. @type {Map<string, string>} */
  #owners = new Map();
  /** @type {Map<string, number>} */
  #unownedSince = new Map(SHARD_IDS.map((shard) => [shard, 0]));
  /** The shards that each member had, and when it left. @type {Map<string, { shards: string[], atMs: number }>} */
  #homes = new Map();
  /** @type {{ atMs: number, since: number } | undefined} */
  #due;
  /** @type {Happening[]} */
  #ahead;
  /** @type {Outcome} */
  outcome = { plans: 0, moves: 0, worst: 0, end: 0, waits: [] };

  /** @param {Rules} rules @param {readonly Event[]} events */
  constructor(rules, events) {
    this.#rules = rules;
    this.#ahead = [...events].sort((one, other) => one.atMs - other.atMs);
  }

  /** @param {number} countFromMs earlier events don't count @returns {Outcome} */
  play(countFromMs) {
    for (;;) {
      const [next] = this.#ahead;
      const atMs = Math.min(
        next?.atMs ?? Number.POSITIVE_INFINITY,
        this.#due?.atMs ?? Number.POSITIVE_INFINITY,
      );
      if (atMs === Number.POSITIVE_INFINITY) break;
      if (next?.atMs === atMs) {
        this.#ahead.shift();
        this.#happen(next);
      } else {
        this.#due = undefined;
        this.#plan(atMs);
      }
      if (atMs < countFromMs) this.outcome = { plans: 0, moves: 0, worst: 0, end: 0, waits: [] };
      this.outcome.end = this.#load;
      this.outcome.worst = Math.max(this.outcome.worst, this.outcome.end);
    }
    return this.outcome;
  }

  /** @param {Happening} happening */
  #happen({ atMs, kind, id }) {
    const { graceMs } = this.#rules;
    if (kind === 'joins') {
      this.#live.add(id);
      return this.#awaited.delete(id) ? this.#planAt(atMs) : this.#settle(atMs);
    }
    if (kind === 'dies') {
      this.#dead.set(id, atMs);
      return this.#later({ atMs: atMs + BURIED_MS, kind: 'is buried', id });
    }
    if (kind === 'is awaited no more') return this.#awaited.delete(id) ? this.#planAt(atMs) : undefined;
    this.#live.delete(id);
    const endedMs = this.#dead.get(id) ?? atMs;
    this.#dead.delete(id);
    const shards = SHARD_IDS.filter((shard) => this.#owners.get(shard) === id);
    for (const shard of shards) {
      this.#owners.delete(shard);
      this.#unownedSince.set(shard, endedMs);
    }
    if (kind === 'leaves') this.#homes.set(id, { shards, atMs });
    if (kind === 'leaves' && graceMs > 0) {
      this.#awaited.add(id);
      this.#later({ atMs: atMs + graceMs, kind: 'is awaited no more', id });
    }
    this.#planAt(atMs);
  }

  /** @param {Happening} happening */
  #later(happening) {
    const at = this.#ahead.findIndex(({ atMs }) => atMs > happening.atMs);
    this.#ahead.splice(at < 0 ? this.#ahead.length : at, 0, happening);
  }

  /** @param {number} atMs */
  #planAt(atMs) {
    this.#due = { atMs, since: atMs };
  }

  /** @param {number} atMs */
  #settle(atMs) {
    const { settleMs } = this.#rules;
    const since = this.#due?.since ?? atMs;
    this.#due = { atMs: Math.min(atMs + settleMs, since + LONGEST_SETTLING * settleMs), since };
  }

  /** @param {number} nowMs */
  #plan(nowMs) {
    if (this.#live.size === 0) return;
    const homes = new Map();
    for (const [id, { shards, atMs }] of this.#homes) {
      if (nowMs - atMs > HOME_MS) this.#homes.delete(id);
      else for (const shard of shards) if (!homes.has(shard)) homes.set(shard, id);
    }
    const owners = new Map(this.#owners);
    for (const [shard, id] of homes) if (this.#awaited.has(id) && !owners.has(shard)) owners.set(shard, id);
    const members = [...this.#live, ...this.#awaited].map((id) => ({ id, weight: 1 }));
    const planned = plan({ shards: SHARD_IDS, members, owners, homes });
    this.outcome.plans++;
    for (const [shard, id] of planned) {
      const before = this.#owners.get(shard);
      if (before === id || this.#awaited.has(id)) continue;
      if (before === undefined) {
        this.outcome.waits.push(nowMs - /** @type {number} */ (this.#unownedSince.get(shard)));
        this.#unownedSince.delete(shard);
      } else if (this.#dead.has(before)) this.outcome.waits.push(BURIED_MS);
      else this.outcome.moves++;
      this.#owners.set(shard, id);
    }
    for (const id of this.#live) this.#homes.delete(id);
  }

  /** The shards of the member with the most, divided by the mean of the live members. */
  get #load() {
    /** @type {Map<string, number>} */
    const counts = new Map();
    let most = 0;
    for (const id of this.#owners.values()) {
      const count = (counts.get(id) ?? 0) + 1;
      counts.set(id, count);
      most = Math.max(most, count);
    }
    return most / (SHARDS / Math.max(1, this.#live.size));
  }
}

const ids = Array.from({ length: MEMBERS }, (_, at) => `member-${at}`);
/** All members join, and get their shards. @type {Event[]} */
const ALL_THERE = ids.map((id) => ({ atMs: 0, kind: 'joins', id }));
const BEGIN_MS = 10_000;

/** @param {number} overMs @returns {Event[]} */
function joins(overMs) {
  const random = randomFrom(SEED);
  return ids.map((id) => ({ atMs: random() * overMs, kind: 'joins', id }));
}

/** Each member leaves in good order, and comes back under the same name after `awayMs`. @param {number} atOnce @param {number} awayMs @returns {Event[]} */
function rollingRestart(atOnce, awayMs) {
  return ids.flatMap((id, at) => {
    const atMs = BEGIN_MS + Math.floor(at / atOnce) * (awayMs + 1000);
    return [
      /** @type {Event} */ ({ atMs, kind: 'leaves', id }),
      /** @type {Event} */ ({ atMs: atMs + awayMs, kind: 'joins', id }),
    ];
  });
}

/** For a minute, so many members die each second, and as many with other names join. @param {number} perSecond @returns {Event[]} */
function churn(perSecond) {
  const random = randomFrom(SEED);
  const there = ids.map((id) => ({ id, sinceMs: 0 }));
  /** @type {Event[]} */
  const events = [];
  for (let number = 0; number < 60 * perSecond; number++) {
    const atMs = BEGIN_MS + (number / perSecond) * 1000;
    const joined = there.filter(({ sinceMs }) => sinceMs < atMs);
    const victim = joined[Math.floor(random() * joined.length)];
    if (victim === undefined) break;
    there.splice(there.indexOf(victim), 1);
    const newcomer = { id: `newcomer-${number}`, sinceMs: atMs + random() * 1000 };
    there.push(newcomer);
    events.push({ atMs, kind: 'dies', id: victim.id });
    events.push({ atMs: newcomer.sinceMs, kind: 'joins', id: newcomer.id });
  }
  return events;
}

/** A third of all members dies at one moment. Half a minute later, as many join within ten seconds. @returns {Event[]} */
function outage() {
  const random = randomFrom(SEED);
  const third = ids.filter((_, at) => at % 3 === 0);
  return third.flatMap((id) => [
    /** @type {Event} */ ({ atMs: BEGIN_MS, kind: 'dies', id }),
    /** @type {Event} */ ({ atMs: BEGIN_MS + 30_000 + random() * 10_000, kind: 'joins', id: `again-${id}` }),
  ]);
}

/** @type {readonly { what: string, events: readonly Event[], countFromMs: number, graceMs?: number }[]} */
const STORMS = [
  ...[1, 10, 60].map((seconds) => ({
    what: `all join within ${seconds} s`,
    events: joins(seconds * 1000),
    countFromMs: 0,
  })),
  ...[1, 10, 100].map((atOnce) => ({
    what: `rolling restart, ${atOnce} at a time, each away for 2 s`,
    events: [...ALL_THERE, ...rollingRestart(atOnce, 2000)],
    countFromMs: BEGIN_MS,
  })),
  {
    what: 'the same, 10 at a time, with a grace of 5 s',
    events: [...ALL_THERE, ...rollingRestart(10, 2000)],
    ...{ countFromMs: BEGIN_MS, graceMs: 5000 },
  },
  ...[1, 10].map((perSecond) => ({
    what: `${perSecond} a second die and are replaced, for a minute`,
    events: [...ALL_THERE, ...churn(perSecond)],
    countFromMs: BEGIN_MS,
  })),
  {
    what: 'a third dies at once; as many begin within 10 s, 30 s later',
    events: [...ALL_THERE, ...outage()],
    countFromMs: BEGIN_MS,
  },
];

/** @param {readonly number[]} sorted @param {number} share */
function quantile(sorted, share) {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

console.log(`${MEMBERS} members, ${SHARDS} shards, seed ${SEED}; settleMs ${SETTLE_MS}\n`);
console.log(
  '| storm | plans | shards taken from a live member | the same, each change by itself | shards that had no owner | for how long, p50 / most ms | most loaded / mean, worst | at the end |',
);
console.log('|---|---|---|---|---|---|---|---|');
for (const { what, events, countFromMs, graceMs = 0 } of STORMS) {
  const [settled, single] = [SETTLE_MS, 0].map((settleMs) =>
    new Group({ settleMs, graceMs }, events).play(countFromMs),
  );
  if (settled === undefined || single === undefined) break;
  const waits = Float64Array.from(settled.waits).sort();
  const [p50, most] = [0.5, 1].map((share) => Math.round(quantile([...waits], share)));
  console.log(
    `| ${what} | ${settled.plans} | ${settled.moves} | ${single.moves}, in ${single.plans} plans | ${waits.length} | ${p50} / ${most} | ${settled.worst.toFixed(2)} | ${settled.end.toFixed(2)} |`,
  );
}

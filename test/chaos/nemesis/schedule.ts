import { Random } from '../../support/seeded-random.js';

/**
 * What is between the workers and the servers: a proxy on each way, or a network of its own for each of them, with cables to one bridge.
 */
export type Links = 'proxied' | 'wired';

/** Every kind of fault where links are proxied, and how often it comes compared with the others. */
const PROXIED = {
  'a worker stands still': 3,
  'a worker is killed': 3,
  'a worker is stopped and replaced': 1,
  "a worker's event loop is blocked": 4,
  'a blocked worker loses its connections': 4,
  'the thread of a worker hangs': 2,
  'the thread of a worker dies': 2,
  'a worker has a fifth of a processor': 2,
  "a worker's wall clock jumps": 2,
  'a worker is cut off': 4,
  'a worker is cut off from one server': 2,
  'the connections of a worker are reset': 2,
  'the reply to a write of a worker is lost': 3,
  'the network of a worker is slow': 2,
  'a server stands still': 3,
  'a server runs in jerks': 1,
  'a server is killed': 3,
  'all servers are restarted in turn': 1,
  'a server is cut off from the others': 4,
  'two servers are cut off from each other': 2,
  "a server's wall clock jumps": 1,
  "a server's disk is full": 2,
  'an operator deletes a node': 1,
  'an operator deletes the node of a leader that is cut off': 2,
} as const;

/** The same for links by wire. Most of them are faults of the network. */
const WIRED = {
  'a worker stands still': 2,
  'a worker is killed': 2,
  'a worker is stopped and replaced': 1,
  "a worker's event loop is blocked": 1,
  'a worker is cut off': 4,
  'a worker is cut off from one server': 2,
  'a worker is cut off from the server that leads': 2,
  'the connections of a worker are reset': 3,
  'the link of a worker is down': 2,
  'the link of a worker flaps': 2,
  'the link of a worker works one way at a time': 8,
  'the link of a server is down': 1,
  'the link of a server flaps': 1,
  'the network is split': 3,
  'each server is seen by half of the workers': 3,
  'a server stands still': 1,
  'a server is killed': 1,
  'all servers are restarted in turn': 1,
  'a server is cut off from the others': 1,
  'two servers are cut off from each other': 1,
  "a server's disk is full": 1,
  'clocks are 2 s apart': 1,
} as const;

export const KINDS = { proxied: PROXIED, wired: WIRED };
export type Kind = keyof typeof PROXIED | keyof typeof WIRED;
type Weights = Readonly<Partial<Record<Kind, number>>>;

export function kindsOf(links: Links): Kind[] {
  return kindsIn(KINDS[links]);
}

function kindsIn(weights: Weights): Kind[] {
  return Object.keys(weights) as Kind[];
}

/** The direction that is cut: from one end (the worker, or the server that is cut off), to it, or both. */
export type Way = 'both' | 'there' | 'back';

/**
 * One fault as it was drawn: everything about it that chance decides. Its target is given as far as it is known
 * beforehand: the leader at that time is known only then.
 */
export interface Fault {
  readonly kind: Kind;
  /** After the beginning of its storm. */
  readonly atMs: number;
  readonly forMs: number;
  readonly worker: number;
  readonly server: number;
  /** Whether it affects the worker that leads the election, or the server that leads, if there is one then. */
  readonly onLeader: boolean;
  readonly journal: number;
  readonly way: Way;
  /** How strong it is: 0 is little, 1 is most. */
  readonly amount: number;
}

export interface Storm {
  readonly number: number;
  /** How long leaders are blocked in the calm after it: 0 is shortest, 1 is longest. */
  readonly stall: number;
  readonly faults: readonly Fault[];
}

/** What chance may choose from. */
export interface Numbers {
  readonly links: Links;
  readonly workers: number;
  readonly servers: number;
  readonly journals: number;
}

const STORM_MS = 25_000;
const BRIEF_STORM_MS = 30_000; // Somewhat longer, because more faults come in it.
// Half of the faults are over before a holder has to give up what it holds, or soon after; the others last for longer
// than any contender waits: a session timeout, and the time to recover from it.
const SHORT_MS = { least: 200, most: 3000 };
const LONG_MS = { least: 3000, most: 12_000 };
const FAULTS = { least: 8, most: 14 };

/**
 * The storms that follow from a seed, without end. The same seed gives the same storms. Their effects differ, because
 * the processes, the network and the machine's load are real.
 */
export function* storms(seed: number, numbers: Numbers): Generator<Storm, never> {
  const random = new Random(seed);
  const deal = dealer(random, KINDS[numbers.links]);
  for (let number = 1; ; number++) {
    const count = FAULTS.least + random.below(FAULTS.most - FAULTS.least + 1);
    const faults = Array.from({ length: count }, () => draw(deal(), random, numbers, STORM_MS));
    yield storm(number, faults, random.next());
  }
}

/** A single storm that has every kind of fault once. */
export function briefStorm(seed: number, numbers: Numbers): Storm {
  const random = new Random(seed);
  const kinds = inAnyOrder(kindsOf(numbers.links), random);
  const faults = kinds.map((kind) => draw(kind, random, numbers, BRIEF_STORM_MS));
  return storm(1, faults, random.next());
}

function storm(number: number, faults: readonly Fault[], stall: number): Storm {
  return { number, stall, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
}

/**
 * Deals the kinds like cards: each of them once, and then as many again as the weights ask for. So a short run has seen
 * each of them.
 */
function dealer(random: Random, weights: Weights): () => Kind {
  const kinds = kindsIn(weights);
  const weighed = kinds.flatMap((kind) => Array<Kind>(weights[kind] ?? 0).fill(kind));
  let cards: Kind[] = [];
  return () => {
    if (cards.length === 0) cards = [...inAnyOrder(kinds, random), ...kinds.map(() => random.pick(weighed))];
    return cards.shift() as Kind;
  };
}

function inAnyOrder<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  return items.map(() => left.splice(random.below(left.length), 1)[0] as T);
}

function draw(kind: Kind, random: Random, { workers, servers, journals }: Numbers, stormMs: number): Fault {
  return {
    kind,
    atMs: Math.round(random.between(0, stormMs)),
    forMs: Math.round(
      random.chance(0.5)
        ? random.spread(SHORT_MS.least, SHORT_MS.most)
        : random.between(LONG_MS.least, LONG_MS.most),
    ),
    worker: random.below(workers),
    server: random.below(servers),
    onLeader: random.chance(0.6),
    journal: random.below(journals),
    way: random.pick(['both', 'both', 'there', 'back'] as const),
    amount: Math.round(random.next() * 1000) / 1000,
  };
}

/** Describes each fault in a line, for people. */
export function describeStorm({ number, faults }: Storm): string {
  const lines = faults.map(({ kind, atMs, forMs, ...rest }) => {
    const { worker, server, onLeader, journal, way, amount } = rest;
    const whom = `worker ${worker + 1}, server ${server + 1}, journal ${journal + 1}`;
    const leader = onLeader ? ', rather the leader' : '';
    return `  ${(atMs / 1000).toFixed(1).padStart(4)} s  ${kind} (${forMs} ms; ${whom}${leader}; ${way}; ${amount})`;
  });
  return [`storm ${number}`, ...lines].join('\n');
}

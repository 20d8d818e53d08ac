import type { FirstSuccessor } from '../../../src/election/candidates/successor.js';
import * as shippedDecide from '../../../src/election/decide-next-step.js';
import {
  parseRecord,
  type SeenRecord,
  serializeRecord,
} from '../../../src/election/record/election-record.js';
import * as shippedTransitions from '../../../src/election/term/claim-and-release-writes.js';
import { afterRead, type Sign, UNSEEN } from '../../../src/lease/failure-detector.js';
import { heartbeatNodeOf } from '../../../src/queue/names-and-order.js';
import type { TransactionPart } from '../../../src/session/protocol/multi-and-stats.js';
import { partsOf } from '../../../src/session/versioned-records.js';
import { type Exploration, type Next, search } from './search.js';

/**
 * Visits, breadth first, the states of candidates that go by the shipped `decide` and `transitions`, on an abstract ZooKeeper. A claim is
 * carried out at any time after its sending, or never, and its reply may be lost. Time passes in ticks at any moment. Reads may be answered
 * by a server that lags behind. A client that is no candidate may overwrite the record with what can't be read.
 */

const TICK_MS = 1000;
const LEASE_TICKS = 2;
const LEASE_MS = LEASE_TICKS * TICK_MS;
/** Ages that are higher make no difference any more. */
const HIGHEST_AGE = 4;
const QUEUE = '/e';
const CONNECTION = 1;

/** The parts of the protocol that a wrong variant replaces. */
export interface Rules {
  readonly decide: typeof shippedDecide.decide;
  readonly takeoverParts: typeof shippedTransitions.takeoverParts;
  readonly claimOf: typeof shippedTransitions.claimOf;
  readonly releaseOf: typeof shippedTransitions.releaseOf;
  readonly emptyingOf: typeof shippedTransitions.emptyingOf;
  /** The parts of the proof that a claim contains. */
  readonly claimProof: (own: string) => TransactionPart[];
  /** The parts of a leader's proof. @param version - that of the record with which its term began */
  readonly proof: (own: string, version: number) => TransactionPart[];
  /** The parts that a leader's guarded write has before its own. @param version - as of {@link proof} */
  readonly guard: (own: string, version: number) => TransactionPart[];
  /** Whether a candidate that waits sends proofs of its nodes, and the lease counts for a term that it gets later. */
  readonly provesBefore: boolean;
  /** Whether a leader gives its term back before its work has settled. */
  readonly actsOn: boolean;
}

export const SHIPPED: Rules = {
  ...shippedDecide,
  ...shippedTransitions,
  claimProof: (own) => [checkOf(own), raiseOf(own)],
  proof: (own, version) => [checkOf(own), raiseOf(own), { kind: 'check', path: QUEUE, version }],
  guard: (own, version) => [checkOf(own), { kind: 'check', path: QUEUE, version }],
  provesBefore: false,
  actsOn: false,
};

function checkOf(own: string): TransactionPart {
  return { kind: 'check', path: `${QUEUE}/${own}` };
}

function raiseOf(own: string): TransactionPart {
  return { kind: 'set', path: `${QUEUE}/${heartbeatNodeOf(own)}`, data: Buffer.alloc(0) };
}

export interface Bounds {
  readonly candidates: number;
  readonly ticks: number;
  /** How many proofs each candidate sends, beside its claims and the proofs with which its terms begin. */
  readonly proofs: number;
  /** How often another client overwrites the record. */
  readonly strangers: number;
  /** Sessions that end, and processes that die. */
  readonly faults: number;
  readonly terms: number;
  /** Whether the last candidate leads at first: a leader that has left handed its term over to it. Otherwise the record is vacant. */
  readonly isLedByLast: boolean;
}

/** A claim under way, sent `age` ticks ago. */
interface SentClaim {
  readonly age: number;
  readonly parts: readonly TransactionPart[];
  /** The version of the record that it was sent over: it says which claim it is. */
  readonly over: number;
  readonly instead: number | undefined;
}

interface Candidate {
  readonly does: 'waits' | 'leads' | 'gives' | 'dead' | 'gone';
  /** How many ticks it may act, by the replies so far. */
  readonly lease: number;
  /** The version of the record to whose term that lease belongs. */
  readonly term?: number;
  readonly ahead: number;
  readonly record?: Node;
  /** The sign of the holder, with ages in place of instants. */
  readonly sign: Sign;
  /** The version of the record whose holder that is. */
  readonly signOf: number;
  readonly proofs: number;
  readonly claim?: SentClaim;
}

/** A node of the abstract ZooKeeper. No data are lost there, so the version stands for the transaction that wrote it. */
interface Node {
  readonly version: number;
  readonly data: string;
}

interface World {
  readonly nodes: Readonly<Record<string, Node>>;
  /** The record before its newest write, which a server that lags behind still shows. */
  readonly oldRecord?: Node;
  readonly ticks: number;
  readonly faults: number;
  readonly strangers: number;
  readonly candidates: readonly Candidate[];
}

const nodeOf = (index: number) => NAMES[index] as string;
const NAMES = [0, 1, 2].map(
  (index) => `_c_0000000${index}-89ab-8100-8123-07d00000cdef-lock-000000000${index}`,
);
const OWN_PATHS = NAMES.map((name) => `${QUEUE}/${name}`);
const HEARTBEAT_PATHS = NAMES.map((name) => `${QUEUE}/${heartbeatNodeOf(name)}`);
const ownPath = (index: number) => OWN_PATHS[index] as string;
const heartbeatPath = (index: number) => HEARTBEAT_PATHS[index] as string;

/** Applies a transaction, or returns `undefined` if the servers refuse it. */
function carriedOut(world: World, parts: readonly TransactionPart[]): World | undefined {
  const nodes = { ...world.nodes };
  let { oldRecord } = world;
  for (const part of parts) {
    const node = nodes[part.path];
    const { version } = part as { version?: number };
    if (node === undefined || (version !== undefined && version !== -1 && version !== node.version))
      return undefined;
    if (part.kind === 'delete') delete nodes[part.path];
    if (part.kind !== 'set') continue;
    if (part.path === QUEUE) oldRecord = node;
    nodes[part.path] = { version: node.version + 1, data: Buffer.from(part.data).toString() };
  }
  return { ...world, nodes, ...(oldRecord && { oldRecord }) };
}

function isActing({ does, lease }: Candidate, rules: Rules): boolean {
  return (does === 'leads' || (does === 'gives' && rules.actsOn)) && lease > 0;
}

/** What is wrong in this state, if anything is. */
function brokenPromise(world: World, rules: Rules): string | undefined {
  const { candidates, nodes } = world;
  const acting = candidates.flatMap((each, index) => (isActing(each, rules) ? [index] : []));
  if (acting.length > 1) return `candidates ${acting.join(' and ')} act at once`;
  const record = seenOf(nodes[QUEUE] as Node).value;
  if (record.state === 'unreadable') return undefined; // The former leader acts until its lease is over.
  const [leader] = acting;
  if (leader !== undefined && (record.state !== 'held' || record.node !== nodeOf(leader)))
    return `candidate ${leader} acts, and the record doesn't name it`;
  const writer = candidates.findIndex(({ does, term }, index) => {
    if (does !== 'leads' || term === undefined || record.state !== 'held') return false;
    return record.node !== nodeOf(index) && carriedOut(world, rules.guard(nodeOf(index), term)) !== undefined;
  });
  return writer < 0 ? undefined : `a guarded write of candidate ${writer} is carried out after its term`;
}

const seenBefore = new Map<string, SeenRecord>(); // Very many states have the same few records.

function seenOf({ version, data }: Node): SeenRecord {
  const name = `${version}${data}`;
  const before = seenBefore.get(name);
  if (before !== undefined) return before;
  const value = parseRecord(Buffer.from(data), version);
  const seen = { value, version, zxid: BigInt(version), connection: CONNECTION };
  seenBefore.set(name, seen);
  return seen;
}

/** How many others that are there come before the candidate. */
function positionOf({ nodes }: World, index: number): number {
  return Array.from({ length: index }, (_, other) => other).filter((other) => ownPath(other) in nodes).length;
}

class Steps {
  readonly #world: World;
  readonly #rules: Rules;
  readonly #bounds: Bounds;
  readonly found: Next<World>[] = [];

  constructor(world: World, rules: Rules, bounds: Bounds) {
    this.#world = world;
    this.#rules = rules;
    this.#bounds = bounds;
    if (world.ticks < bounds.ticks) this.found.push(['a tick passes', this.#tick()]);
    for (const index of world.candidates.keys()) this.#stepsOf(index);
    if (world.strangers > 0) this.found.push(['another client overwrites the record', this.#overwritten()]);
  }

  #overwritten(): World {
    const { nodes, strangers } = this.#world;
    const oldRecord = nodes[QUEUE] as Node;
    const record = { version: oldRecord.version + 1, data: 'x' };
    return { ...this.#world, nodes: { ...nodes, [QUEUE]: record }, oldRecord, strangers: strangers - 1 };
  }

  #tick(): World {
    const agedSign = (sign: Sign): Sign => {
      const aged = (ms: number) => Math.max(ms - TICK_MS, -HIGHEST_AGE * TICK_MS);
      if (sign.name === 'unseen') return sign;
      if (sign.name === 'gone') return { name: 'gone', since: aged(sign.since) };
      return { ...sign, since: aged(sign.since), readAt: aged(sign.readAt) };
    };
    const candidates = this.#world.candidates.map((each) => {
      const { claim } = each;
      const older = claim && { claim: { ...claim, age: Math.min(claim.age + 1, HIGHEST_AGE) } };
      return { ...each, ...older, lease: Math.max(0, each.lease - 1), sign: agedSign(each.sign) };
    });
    return { ...this.#world, ticks: this.#world.ticks + 1, candidates };
  }

  #with(index: number, change: Partial<Candidate>, world = this.#world): World {
    const candidates = world.candidates.map((each, at) => {
      if (at !== index) return each;
      const changed = { ...each, ...change } as Record<string, unknown>;
      for (const key of ['record', 'claim', 'term']) if (changed[key] === undefined) delete changed[key];
      return changed as unknown as Candidate;
    });
    return { ...world, candidates };
  }

  #add(index: number, what: string, change: Partial<Candidate>, world = this.#world): void {
    this.found.push([`candidate ${index} ${what}`, this.#with(index, change, world)]);
  }

  #stepsOf(index: number): void {
    const candidate = this.#world.candidates[index] as Candidate;
    const { does, claim } = candidate;
    this.#faults(index, candidate);
    if (claim !== undefined) this.#resolve(index, candidate, claim);
    if (does === 'dead' || does === 'gone') return;
    const proves = does === 'waits' ? this.#rules.provesBefore : true;
    if (proves && candidate.proofs < this.#bounds.proofs) this.#prove(index, candidate);
    if (does === 'waits' && claim === undefined) this.#decide(index, candidate);
    if (does === 'leads') this.#add(index, 'gives its term back', { does: 'gives' });
    if (does === 'gives') this.#give(index);
  }

  #faults(index: number, { does }: Candidate): void {
    const { nodes, faults } = this.#world;
    if (!(ownPath(index) in nodes)) return;
    const left = Object.fromEntries(
      Object.entries(nodes).filter(([path]) => path !== ownPath(index) && path !== heartbeatPath(index)),
    );
    if (does === 'dead' || faults > 0)
      this.found.push([
        `the session of candidate ${index} ends`,
        { ...this.#world, nodes: left, faults: does === 'dead' ? faults : faults - 1 },
      ]);
    if (does !== 'dead' && does !== 'gone' && faults > 0)
      this.#add(index, 'dies', { does: 'dead', lease: 0 }, { ...this.#world, faults: faults - 1 });
  }

  /** A proof that takes longer begins an earlier lease: so one that is sent and carried out within a tick includes all others. */
  #prove(index: number, { does, lease, proofs, term }: Candidate): void {
    const own = nodeOf(index);
    const isOfTerm = does !== 'waits' && term !== undefined;
    const parts = isOfTerm ? this.#rules.proof(own, term) : this.#rules.claimProof(own);
    const world = carriedOut(this.#world, parts);
    if (world === undefined) return this.#add(index, 'finds its term over', { does: 'gone', lease: 0 });
    const proven = { lease: Math.max(lease, LEASE_TICKS), proofs: proofs + 1 };
    this.#add(index, 'proves its node', proven, world);
  }

  /** The record says that the term is the candidate's: the term begins with its claim, or with a proof that checks the record. */
  #takeUp(index: number, { record, term, lease }: Candidate): void {
    const { version } = record as Node;
    const leads = { does: 'leads', sign: UNSEEN, term: version } as const;
    if ((term === version || this.#rules.provesBefore) && lease > 0) return this.#add(index, 'leads', leads);
    const world = carriedOut(this.#world, this.#rules.proof(nodeOf(index), version));
    if (world === undefined) return this.#add(index, 'has its first proof refused', { record: undefined });
    this.#add(index, 'begins its term with a proof', { ...leads, lease: LEASE_TICKS }, world);
  }

  /** The servers carry a claim out, or refuse it. Its reply comes, or is lost: then the candidate reads the record. */
  #resolve(index: number, { does }: Candidate, claim: SentClaim): void {
    const world = carriedOut(this.#world, claim.parts);
    const over = { claim: undefined, record: undefined };
    if (world === undefined) {
      const isLost = !(ownPath(index) in this.#world.nodes) && does !== 'dead';
      const lost: Partial<Candidate> = isLost ? { does: 'gone', lease: 0 } : {};
      return this.#add(index, 'has its claim refused', { ...over, sign: UNSEEN, ...lost });
    }
    this.#add(index, 'has its claim carried out, and hears nothing', over, world);
    if (does === 'dead') return;
    const proven = { lease: LEASE_TICKS - claim.age, term: claim.over + 1 };
    this.#add(index, 'has its claim carried out', { ...over, ...proven }, world);
  }

  #decide(index: number, candidate: Candidate): void {
    const { ahead, record, sign } = candidate;
    const position = positionOf(this.#world, index);
    if (position < ahead)
      this.#add(index, 'sees who is ahead', { ahead: position, ...{ record: undefined } });
    const known: shippedDecide.Known = {
      now: 0,
      own: { node: nodeOf(index), leaseMs: LEASE_MS },
      longestLeaseMs: LEASE_MS,
      ahead: ahead === 0 ? { position: 0 } : { position: ahead, nearest: nodeOf(index - 1) },
      leastDelayMs: 0,
    };
    const seen = record && seenOf(record);
    const of = { record: seen, holder: sign, isProtected: false, hadPlace: false };
    const step = this.#rules.decide(of, known);
    if (step.do === 'look') this.#look(index, candidate);
    else if (step.do === 'claim') this.#claim(index, step);
    else if (step.do === 'empty') this.#empty(index, step.over);
    else if (step.do === 'lead') this.#takeUp(index, candidate);
    else if (step.do === 'wait') this.#observe(index, candidate);
  }

  #look(index: number, { signOf }: Candidate): void {
    const current = this.#world.nodes[QUEUE] as Node;
    for (const [what, node] of [
      ['reads the record', current],
      ['reads an old record', this.#world.oldRecord],
    ] as const) {
      if (node === undefined) continue;
      const isNew = node.version !== signOf;
      // As in LeaderMonitor: a leader may act that held the record before.
      const sign: Sign = seenOf(node).value.state === 'unreadable' ? { name: 'gone', since: 0 } : UNSEEN;
      this.#add(index, what, { record: node, signOf: node.version, ...(isNew && { sign }) });
    }
  }

  /** Reads the heartbeat node of the holder. Sees that its own node is gone, if it is the first in the queue. */
  #observe(index: number, { record, sign, ahead }: Candidate): void {
    const value = record && seenOf(record).value;
    if (value?.state !== 'held') return;
    const { nodes } = this.#world;
    const holder = this.#world.candidates.findIndex((_, other) => nodeOf(other) === value.node);
    if (!(ownPath(holder) in nodes)) {
      if (ahead === 0 && sign.name !== 'gone')
        this.#add(index, "sees that the holder's node is gone", {
          sign: { name: 'gone', since: 0 },
          record: undefined,
        });
      return;
    }
    const node = nodes[heartbeatPath(holder)];
    const stat = node && { version: node.version, mzxid: BigInt(node.version) };
    if (sign.name !== 'gone')
      this.#add(index, "reads the holder's heartbeat node", {
        sign: afterRead(sign, stat, { readAt: 0, now: 0, connection: CONNECTION }),
      });
  }

  /** The reply may be lost: then the candidate looks. */
  #empty(index: number, { version }: SeenRecord): void {
    const own = { kind: 'check', path: ownPath(index) } as const;
    const world = carriedOut(this.#world, [own, ...partsOf([this.#rules.emptyingOf(recordAt(version))])]);
    const unknown = { record: undefined };
    if (world === undefined) return this.#add(index, 'may not empty the record', unknown);
    this.#add(index, 'empties the record, and hears nothing', unknown, world);
    const record = world.nodes[QUEUE] as Node;
    const sign: Sign = { name: 'gone', since: 0 };
    this.#add(index, 'empties the record', { record, signOf: record.version, sign }, world);
  }

  #claim(index: number, { over, instead }: shippedDecide.ClaimStep): void {
    const { value, version } = over;
    const term = 'term' in value ? value.term + 1 : version + 1;
    if (term > this.#bounds.terms) return;
    const own = nodeOf(index);
    const held = { term, node: own, leaseMs: LEASE_MS };
    const deletions =
      instead === undefined || value.state !== 'held'
        ? []
        : this.#rules.takeoverParts(QUEUE, value.node, instead);
    const claim = this.#rules.claimOf(recordAt(version), held, deletions);
    this.#add(index, 'sends a claim', {
      claim: {
        ...{ age: 0, parts: [...this.#rules.claimProof(own), ...partsOf([claim])] },
        ...{ over: version, instead: instead?.version },
      },
    });
  }

  /** The work has settled: the release goes to the first in the queue, or to nobody. The reply makes no difference. */
  #give(index: number): void {
    const record = seenOf(this.#world.nodes[QUEUE] as Node);
    if (record.value.state !== 'held' || record.value.node !== nodeOf(index)) {
      this.#add(index, 'finds its node gone', { does: 'gone', lease: 0 });
      return;
    }
    const next = this.#world.candidates.findIndex(
      (_, other) => other !== index && ownPath(other) in this.#world.nodes,
    );
    const successor: FirstSuccessor | undefined =
      next < 0 ? undefined : { isFirst: true, node: nodeOf(next), leaseMs: LEASE_MS };
    const deletions = [ownPath(index), heartbeatPath(index)].map(
      (path) => ({ kind: 'delete', path }) as const,
    );
    const { term } = record.value;
    const giving = this.#rules.releaseOf(recordAt(record.version), term, successor, deletions);
    const world = carriedOut(this.#world, partsOf([giving]));
    if (world !== undefined) this.#add(index, 'has its release carried out', {}, world);
    else this.#add(index, 'finds its node gone', { does: 'gone', lease: 0 });
  }
}

/** The record as a candidate has seen it. */
function recordAt(version: number) {
  return { path: QUEUE, version, connection: CONNECTION };
}

/** A short name of a state. */
function key({ nodes, oldRecord, ticks, faults, strangers, candidates }: World): string {
  const of = (node?: Node) => (node === undefined ? '-' : `${node.version}${node.data}`);
  const parts = candidates.map((each, index) => {
    const { does, lease, term, ahead, record, sign, signOf, proofs, claim } = each;
    const seen = sign.name === 'beating' ? `${sign.version},${sign.since},${sign.readAt}` : sign.name;
    const since = sign.name === 'gone' ? sign.since : '';
    const sent = claim && `${claim.age},${claim.over},${claim.instead}`;
    const version = (path: string) => nodes[path]?.version;
    const own = `${version(ownPath(index))},${version(heartbeatPath(index))}`;
    return [does, lease, term, ahead, of(record), seen, since, signOf, proofs, sent, own].join(';');
  });
  return [ticks, faults, strangers, of(nodes[QUEUE]), of(oldRecord), ...parts].join('|');
}

/** Visits all states within the bounds, or up to the first in which a promise is broken. */
export function explore(rules: Rules, bounds: Bounds): Exploration {
  const last = nodeOf(bounds.candidates - 1);
  const handedOver = serializeRecord({ state: 'held', term: 1, node: last, leaseMs: LEASE_MS }).toString();
  const record = bounds.isLedByLast ? { version: 1, data: handedOver } : { version: 0, data: '' };
  const nodes: Record<string, Node> = { [QUEUE]: record };
  for (let index = 0; index < bounds.candidates; index++) {
    nodes[ownPath(index)] = { version: 0, data: '' };
    nodes[heartbeatPath(index)] = { version: 0, data: '' };
  }
  const candidates = Array.from(
    { length: bounds.candidates },
    (_, ahead): Candidate => ({ does: 'waits', lease: 0, ahead, sign: UNSEEN, signOf: -1, proofs: 0 }),
  );
  const first: World = { nodes, ticks: 0, faults: bounds.faults, strangers: bounds.strangers, candidates };
  return search({
    first,
    key,
    stepsOf: (world) => new Steps(world, rules, bounds).found,
    brokenPromise: (world) => brokenPromise(world, rules),
  });
}

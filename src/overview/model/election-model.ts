import type { Candidate } from '../../election/candidates/candidate.js';
import { leaseOf, priorityOf } from '../../election/candidates/candidate-uuid.js';
import { preferredSuccessor } from '../../election/candidates/order-by-priority.js';
import type { ReadRecord } from '../../election/record/election-record.js';
import type { QueueEntry } from '../../queue/names-and-order.js';
import { PastTerms } from './past-terms.js';
import { shownData, shownId } from './read-limits.js';
import type { CandidateView, ElectionView, LeaderView, NextView, TransitionView } from './view-types.js';

/** A record as it was read. */
export interface DatedRecord {
  readonly record: ReadRecord;
  /** The transaction that wrote it. */
  readonly zxid: bigint;
  /** When it was written, by this process's clock. */
  readonly at: number;
}

/** An election as it was read. */
export interface ElectionFacts {
  readonly record: DatedRecord;
  /** In order. */
  readonly queue: readonly QueueEntry[];
  /** The newest transaction that the list of candidates is sure to show. */
  readonly listedZxid: bigint;
  /** By the names of their nodes. The leader is among them, if its node was there. */
  readonly candidates: ReadonlyMap<string, Candidate>;
}

const NO_FACTS: ElectionFacts = {
  record: { record: { state: 'vacant', term: 0 }, zxid: 0n, at: 0 },
  ...{ queue: [], listedZxid: 0n, candidates: new Map() },
};

/** What is known of one election, over all sessions that have read it. Reads nothing itself. */
export class ElectionModel {
  readonly path: string;
  #facts = NO_FACTS;
  readonly #terms = new PastTerms();
  /** By the names of leaders' nodes, when their newest heartbeat was committed. */
  readonly #heartbeats = new Map<string, number>();
  #isUnreadable = false;
  #view: ElectionView | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * @param now - the time of day
   * @returns what has happened, in order
   */
  read(facts: ElectionFacts, now: number): TransitionView[] {
    const former = this.#facts;
    const isFirst = former === NO_FACTS;
    this.#facts = facts;
    this.#isUnreadable = false;
    this.#view = undefined;
    const came = isFirst ? [] : entriesBut(facts.queue, former.queue);
    const left = entriesBut(former.queue, facts.queue);
    const joined = came.map((entry) => ({ at: now, kind: 'joined' as const, id: idOf(entry, facts) }));
    const gone = left.map((entry) => ({ at: now, kind: 'left' as const, id: idOf(entry, former) }));
    const seen = { ...facts.record, id: idOfHolder(facts), isGone: isHolderGone(facts) };
    const terms = this.#terms.see(seen, now);
    const leader = this.view.leader?.node;
    for (const node of this.#heartbeats.keys()) if (node !== leader) this.#heartbeats.delete(node);
    return [...joined, ...terms, ...gone].map((each) => ({ ...each, path: this.path }));
  }

  /** A server refuses to show it. */
  refused(): void {
    this.#isUnreadable = true;
    this.#view = undefined;
  }

  /** The heartbeat of a leader was read. Returns `true` if it is another one than before. */
  beat(node: string, at: number): boolean {
    if (this.#heartbeats.get(node) === at) return false;
    this.#heartbeats.set(node, at);
    this.#view = undefined;
    return true;
  }

  get view(): ElectionView {
    this.#view ??= this.#show();
    return this.#view;
  }

  #show(): ElectionView {
    const facts = this.#facts;
    const leader = leaderOf(facts, this.#heartbeats);
    return {
      path: this.path,
      state: this.#isUnreadable ? 'unreadable' : stateOf(facts, leader),
      leader,
      candidates: facts.queue.map((entry, position) => candidateView(entry, position, facts, leader)),
      next: nextOf(facts, leader),
      terms: this.#terms.all,
    };
  }
}

function entriesBut(queue: readonly QueueEntry[], others: readonly QueueEntry[]): QueueEntry[] {
  const nodes = new Set(others.map(({ node }) => node));
  return queue.filter(({ node }) => !nodes.has(node));
}

/** Whether the list of candidates shows that the record's node is gone. A list that is older than the record doesn't show it. */
function isHolderGone({ record: { record, zxid }, queue, listedZxid }: ElectionFacts): boolean {
  if (record.state !== 'held' || listedZxid < zxid) return false;
  return !queue.some(({ node }) => node === record.node);
}

function idOfHolder({ record: { record }, candidates }: ElectionFacts): string | null {
  return record.state === 'held' ? (candidates.get(record.node)?.id ?? record.id ?? null) : null;
}

/** The id that a candidate's node says, or else its uuid. */
function idOf({ node, id }: QueueEntry, { candidates }: ElectionFacts): string {
  return shownId(candidates.get(node)?.id ?? id);
}

function leaderOf(facts: ElectionFacts, heartbeats: ReadonlyMap<string, number>): LeaderView | null {
  const { record, at } = facts.record;
  if (record.state !== 'held' || isHolderGone(facts)) return null;
  const { node, term, leaseMs } = record;
  return {
    id: shownId(idOfHolder(facts) ?? node),
    ...{ node, term, since: at, leaseMs },
    heartbeatAt: heartbeats.get(node) ?? null,
  };
}

function stateOf(facts: ElectionFacts, leader: LeaderView | null): ElectionView['state'] {
  if (facts.record.record.state === 'unreadable') return 'unreadable';
  if (leader !== null) return 'led';
  if (facts.queue.length === 0) return 'deserted';
  return isHolderGone(facts) ? 'taking-over' : 'vacant';
}

function candidateView(
  entry: QueueEntry,
  position: number,
  facts: ElectionFacts,
  leader: LeaderView | null,
): CandidateView {
  const { node } = entry;
  const data = shownData(facts.candidates.get(node)?.data);
  return {
    ...{ id: idOf(entry, facts), node, position },
    ...{ priority: priorityOf(entry), leads: node === leader?.node },
    ...(data !== undefined && { data }),
  };
}

/** Which candidate leads next, as far as the queue shows it. A leader may have named another one, and no other client can see that. */
function nextOf(facts: ElectionFacts, leader: LeaderView | null): NextView | null {
  const waiting = facts.queue.filter((entry) => entry.node !== leader?.node && leaseOf(entry) !== undefined);
  const preferred = preferredSuccessor(waiting);
  const next = preferred ?? waiting[0];
  if (next === undefined) return null;
  const why = preferred === undefined ? 'queue' : 'priority';
  return { id: idOf(next, facts), node: next.node, why };
}

import type { Candidate } from '../../election/candidates/candidate.js';
import { leaseOf, priorityOf } from '../../election/candidates/candidate-uuid.js';
import { preferredSuccessor } from '../../election/candidates/order-by-priority.js';
import type { ReadRecord } from '../../election/record/record.js';
import type { QueueEntry } from '../../queue/names-and-order.js';
import { shownData, shownId } from './read-limits.js';
import { MOST_TERMS, SeatTerms } from './terms.js';
import type { CandidateView, ElectionView, LeaderView, NextView, TermView, TransitionView } from './views.js';

/** The record of a seat as it was read, and the node that it names, if that was read. */
export interface ReadSeat {
  readonly record: ReadRecord;
  /** The transaction that wrote it. */
  readonly zxid: bigint;
  /** When it was written, by this process's clock. */
  readonly at: number;
}

/** An election as it was read. */
export interface ElectionFacts {
  /** By seat. */
  readonly seats: readonly ReadSeat[];
  /** In order. */
  readonly queue: readonly QueueEntry[];
  /** The newest transaction that the list of candidates is sure to show. */
  readonly listedZxid: bigint;
  /** By the names of their nodes. The leaders are among them, if their nodes were there. */
  readonly candidates: ReadonlyMap<string, Candidate>;
}

type Heartbeats = ReadonlyMap<string, number>;
const NO_FACTS: ElectionFacts = { seats: [], queue: [], listedZxid: 0n, candidates: new Map() };

/** What is known of one election, over all sessions that have read it. Reads nothing itself. */
export class ElectionModel {
  readonly path: string;
  #facts = NO_FACTS;
  #seats: SeatTerms[] = [];
  readonly #past: readonly TermView[];
  /** By the names of leaders' nodes, when their newest heartbeat was committed. */
  readonly #heartbeats = new Map<string, number>();
  #isUnreadable = false;
  #view: ElectionView | undefined;

  /** @param past - the terms of all seats that are known from before the overview began */
  constructor(path: string, past: readonly TermView[] = []) {
    this.path = path;
    this.#past = past;
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
    const idIn = ({ candidates }: ElectionFacts, { node, id }: QueueEntry) =>
      shownId(candidates.get(node)?.id ?? id);
    const joined = came.map((entry) => ({ at: now, kind: 'joined' as const, id: idIn(facts, entry) }));
    const gone = left.map((entry) => ({ at: now, kind: 'left' as const, id: idIn(former, entry) }));
    const terms = facts.seats.flatMap((seat, number) =>
      this.#termsOf(number).see(
        {
          ...seat,
          id: idOfHolder(seat, facts),
          isGone: isHolderGone(seat, facts),
        },
        now,
      ),
    );
    const leaders = new Set(this.view.leaders.map((leader) => leader?.node));
    for (const node of this.#heartbeats.keys()) if (!leaders.has(node)) this.#heartbeats.delete(node);
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
    this.#view ??= {
      ...viewOf(this.path, this.#facts, this.#heartbeats),
      ...(this.#isUnreadable && { state: 'unreadable' as const }),
      terms: this.#terms(),
    };
    return this.#view;
  }

  #terms(): TermView[] {
    const all = this.#seats.flatMap(({ terms }) => terms);
    return all.sort((one, other) => one.from - other.from || one.seat - other.seat).slice(-MOST_TERMS);
  }

  #termsOf(seat: number): SeatTerms {
    for (let next = this.#seats.length; next <= seat; next++)
      this.#seats.push(
        new SeatTerms(
          next,
          this.#past.filter((term) => term.seat === next),
        ),
      );
    return this.#seats[seat] as SeatTerms;
  }
}

function entriesBut(queue: readonly QueueEntry[], others: readonly QueueEntry[]): QueueEntry[] {
  const nodes = new Set(others.map(({ node }) => node));
  return queue.filter(({ node }) => !nodes.has(node));
}

/** Whether the list of candidates shows that the record's node is gone. A list that is older than the record doesn't show it. */
export function isHolderGone({ record, zxid }: ReadSeat, { queue, listedZxid }: ElectionFacts): boolean {
  if (record.state !== 'held' || listedZxid < zxid) return false;
  return !queue.some(({ node }) => node === record.node);
}

function idOfHolder({ record }: ReadSeat, { candidates }: ElectionFacts): string | null {
  return record.state === 'held' ? (candidates.get(record.node)?.id ?? record.id ?? null) : null;
}

/** A pure function of the nodes that were read, without the terms. */
export function viewOf(
  path: string,
  facts: ElectionFacts,
  heartbeats: Heartbeats,
): Omit<ElectionView, 'terms'> {
  const leaders = facts.seats.map((seat, number) => leaderOf(seat, number, facts, heartbeats));
  const leading = new Set(leaders.flatMap((leader) => leader?.node ?? []));
  return {
    path,
    state: stateOf(facts, leaders),
    seats: facts.seats.length,
    leader: leaders.find((leader) => leader !== null) ?? null,
    leaders,
    candidates: facts.queue.map((entry, position) => candidateView(entry, position, facts, leading)),
    next: nextOf(facts, leading),
  };
}

function leaderOf(
  seat: ReadSeat,
  number: number,
  facts: ElectionFacts,
  heartbeats: Heartbeats,
): LeaderView | null {
  const { record, at } = seat;
  if (record.state !== 'held' || isHolderGone(seat, facts)) return null;
  const { node, term, leaseMs } = record;
  return {
    id: shownId(idOfHolder(seat, facts) ?? node),
    ...{ node, term, since: at, seat: number, leaseMs },
    heartbeatAt: heartbeats.get(node) ?? null,
  };
}

/** The worst of the seats' states. */
function stateOf(facts: ElectionFacts, leaders: readonly (LeaderView | null)[]): ElectionView['state'] {
  const { seats, queue } = facts;
  if (seats.some(({ record }) => record.state === 'unreadable')) return 'unreadable';
  if (queue.length === 0 && leaders.every((leader) => leader === null)) return 'deserted';
  if (seats.some((seat) => isHolderGone(seat, facts))) return 'taking-over';
  // If there are fewer candidates than seats, all of them lead, and the other seats have no candidate.
  const led = leaders.filter((leader) => leader !== null).length;
  return led < Math.min(seats.length, Math.max(queue.length, 1)) ? 'vacant' : 'led';
}

function candidateView(
  entry: QueueEntry,
  position: number,
  { candidates }: ElectionFacts,
  leading: ReadonlySet<string>,
): CandidateView {
  const { node } = entry;
  const candidate = candidates.get(node);
  const data = shownData(candidate?.data);
  return {
    ...{ id: shownId(candidate?.id ?? entry.id), node, position },
    ...{ priority: priorityOf(entry), leads: leading.has(node) },
    ...(data !== undefined && { data }),
  };
}

/** Which candidate leads next, as far as the queue shows it. A leader may have named another one, and no other client can see that. */
function nextOf({ queue, candidates }: ElectionFacts, leading: ReadonlySet<string>): NextView | null {
  const waiting = queue.filter((entry) => !leading.has(entry.node) && leaseOf(entry) !== undefined);
  const preferred = preferredSuccessor(waiting);
  const next = preferred ?? waiting[0];
  if (next === undefined) return null;
  const { node, id } = next;
  return {
    id: shownId(candidates.get(node)?.id ?? id),
    node,
    why: preferred === undefined ? 'queue' : 'priority',
  };
}

import { NoCandidateError, NoNodeError } from '../../errors.js';
import type { Contender } from '../../queue/contender.js';
import {
  compareSequences,
  earliestBut,
  isOverflowed,
  parseEntry,
  type QueueEntry,
  queueOf,
} from '../../queue/names-and-order.js';
import type { ChildNames } from '../../session/protocol/child-names.js';
import type { Stat } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import type { Watcher } from '../../session/watch-registry.js';
import { ElectionReader } from '../record/election-reader.js';
import { mayHavePriority } from './candidate-uuid.js';
import { preferredSuccessor } from './order-by-priority.js';
import {
  type FirstSuccessor,
  firstSuccessor,
  type MarkedSuccessor,
  markedSuccessor,
  type Successor,
} from './successor.js';

/** The candidate that leads after a leader, as far as a listing shows it. */
export type ListedSuccessor =
  /** The first in the queue. `undefined` if the queue has no other candidate, or another client's node is the next. */
  | { readonly kind: 'first'; readonly successor: FirstSuccessor | undefined }
  /** A candidate with a higher priority than the first. Its node has to be read. */
  | { readonly kind: 'preferred'; readonly entry: QueueEntry };

/** Finds the candidate that leads next: the one that the leader names, the one with the highest priority, or the first in the queue. */
export class SuccessorSearch {
  readonly #session: Session;
  readonly #path: string;

  constructor(session: Session, path: string) {
    this.#session = session;
    this.#path = path;
  }

  /** The queue's children. The request is sent at once. @throws ConnectionLossError, or a server's refusal */
  listOnce(): Promise<ChildNames> {
    return this.#session.listChildren(this.#path);
  }

  /** As {@link listOnce}. `watcher` learns of the next candidate that comes or goes, and of the end of the session's own. */
  async listAndWatch(watcher: Watcher): Promise<ChildNames> {
    return (await this.#session.listAndWatch(this.#path, watcher)).value;
  }

  #list(): Promise<ChildNames> {
    return this.#session.retryUntilAnswered(() => this.listOnce());
  }

  /**
   * The candidate that follows `leader`, by a listing alone.
   * @param names - a listing of the queue that isn't older than the leader's term
   */
  listed(leader: QueueEntry, names: ChildNames): ListedSuccessor {
    const { node: own } = leader;
    const isPlain = names.strings(mayHavePriority).every((node) => node === own);
    const preferred = isPlain ? undefined : preferredSuccessor(this.#standing(names.strings(), own));
    if (preferred !== undefined) return { kind: 'preferred', entry: preferred };
    const first = this.#first(names, leader);
    return { kind: 'first', successor: first && firstSuccessor(first) };
  }

  /**
   * The candidate that follows `leader`. `undefined` if no candidate can be handed a term.
   * @param known - what a listing has shown, if the queue hasn't changed since
   */
  async next(leader: QueueEntry, known?: ListedSuccessor): Promise<Successor | undefined> {
    for (let listed = known; ; listed = undefined) {
      listed ??= this.listed(leader, await this.#list());
      if (listed.kind === 'first') return listed.successor;
      const found = await this.#read(listed.entry);
      if (found !== 'gone') return found;
    }
  }

  /**
   * A candidate behind `first`, the first in the queue, with a higher priority, except `after` and those that are passed over after that
   * term. `undefined` if there is none.
   */
  async preferredTo(
    { entry: first }: Contender,
    after: string,
    failed: FailedTerm,
  ): Promise<MarkedSuccessor | undefined> {
    const passedOver = new Set<string>();
    for (;;) {
      const names = await this.#list();
      if (names.strings(mayHavePriority).length === 0) return undefined;
      const behind = this.#standing(names.strings(), after).filter(
        ({ node, sequence }) => compareSequences(sequence, first.sequence) >= 0 && !passedOver.has(node),
      );
      const preferred = preferredSuccessor(behind);
      const found = preferred && (await this.#read(preferred));
      if (found === 'gone') continue;
      if (found === undefined || !isPassedOver(found, failed)) return found;
      passedOver.add(found.node);
    }
  }

  /**
   * The candidate with that id, or whose node has that name; if several have the id, the first in the queue.
   * @throws NoCandidateError if there is none, or it is another client's
   */
  async named(candidate: string, leader: QueueEntry): Promise<MarkedSuccessor> {
    const candidates = await new ElectionReader(this.#session, this.#path).queue();
    const others = candidates.filter(({ node }) => node !== leader.node);
    const node = others.find((each) => each.id === candidate || each.node === candidate)?.node;
    const found = await this.again(node);
    if (found === undefined) throw new NoCandidateError(candidate);
    return found;
  }

  /** A candidate as it is now, by the name of its node; `undefined` if the node is gone, or another client's. */
  async again(node: string | undefined): Promise<MarkedSuccessor | undefined> {
    const entry = node === undefined ? undefined : parseEntry(node);
    const found = entry && (await this.#read(entry));
    return found === 'gone' ? undefined : found;
  }

  /** The candidates in order. Nodes that belong to no session aren't candidates. */
  #standing(names: readonly string[], except: string): QueueEntry[] {
    const { ownerless } = this.#session.guard;
    return queueOf(names).filter(({ node }) => node !== except && !ownerless.has(this.#path, node));
  }

  /**
   * The first candidate, mostly without making strings of all names. Also `undefined` where the numbers don't show the
   * order; the queue then finds out.
   */
  #first(names: ChildNames, leader: QueueEntry): QueueEntry | undefined {
    let [first] = queueOf(names.strings(earliestBut(leader)));
    if (first !== undefined && this.#session.guard.ownerless.has(this.#path, first.node))
      first = this.#standing(names.strings(), leader.node)[0];
    return first !== undefined && isOverflowed(first) ? undefined : first;
  }

  async #read(entry: QueueEntry): Promise<MarkedSuccessor | 'gone' | undefined> {
    const path = `${this.#path}/${entry.node}`;
    try {
      const node = await this.#session.retryUntilAnswered(() => this.#session.getData(path));
      if (this.#session.guard.ownerless.isOne(path, node.stat)) return 'gone';
      return markedSuccessor(entry, node);
    } catch (error) {
      if (error instanceof NoNodeError) return 'gone';
      throw error;
    }
  }
}

/** A term that ended without a release, as the candidate saw it that is about to begin the next one. */
export interface FailedTerm {
  /** The transaction that began it. */
  readonly zxid: bigint;
  /** How many proofs its leader has sent: the version of its heartbeat node. `undefined` if the candidate has seen none. */
  readonly proofs: number | undefined;
}

/** Four proofs are a lease. A leader that sent fewer than this has not kept its term: with default options it led for less than 20 s. */
const FEW_PROOFS = 40;

/**
 * Whether a candidate's priority doesn't count at this change of the leader. A process that ends soon after it was elected, and is started
 * again at once, would otherwise be elected again and again, for its priority. Under which id or node it comes back doesn't matter: it joins
 * after its term has begun. A candidate that was there before keeps its priority, and so does each one when a term has lasted.
 *
 * README.md of the election says why that is safe, and that no candidate waits for it.
 */
export function isPassedOver({ czxid }: Pick<Stat, 'czxid'>, { zxid, proofs }: FailedTerm): boolean {
  return proofs !== undefined && proofs < FEW_PROOFS && czxid > zxid;
}

import type { NodeContent } from '../../lease/ephemeral-node.js';
import type { Contender } from '../../lock/queue/contender.js';
import { ignore, settledWithin } from '../../platform/async/promises.js';
import type { AccompanyingRead, AccompanyingReads } from '../../session/connection/heartbeat.js';
import type { ChildNames } from '../../session/protocol/child-names.js';
import { getChildrenRequest } from '../../session/protocol/requests.js';
import { hasPriorityMark } from '../nodes/candidate-request.js';
import type { MarkedSuccessor, Successor } from './successor.js';
import type { SuccessorSearch } from './successor-search.js';

/** The candidate that leads next, as far as a leader knows when it gives its term back. */
export interface NextLeader {
  /** `undefined` if there is none, or none is known. */
  readonly successor?: Successor | undefined;
  /** This is right only while the leader's own node is at that version. */
  readonly ifAt?: number | undefined;
}

/**
 * - `unknown`: the queue has to be listed.
 * - `looking`: the listing isn't answered yet; or it shows a candidate with a priority, whose node is being read.
 * - `known`: the successor is known, or there is none. While there is none, the queue is listed again as often as an
 *   idle session sends a ping. A session that leads several elections does that for one of them. It lists the queues of
 *   the others when it releases.
 */
type State =
  | { readonly name: 'unknown' }
  | { readonly name: 'looking'; readonly ended: Promise<void> }
  | { readonly name: 'known'; readonly successor: Successor | undefined };

/**
 * Finds out before the term ends which candidate leads next, so that the release takes one write. The queue is listed
 * right behind the claim, unless the claim has shown that no other candidate is there. A candidate that joins later
 * stands behind the first in the queue. If it has a priority, it marks the leader's node. So the release misses no
 * candidate whose `start()` has resolved: the mark has raised the version of the leader's node, and the release depends
 * on that version.
 */
export class Succession implements AccompanyingReads {
  readonly #search: SuccessorSearch;
  readonly #leader: Contender;
  readonly #lastRead: () => NodeContent | undefined;
  #state: State = { name: 'unknown' };
  /** The candidate that the leader named. */
  #named: MarkedSuccessor | undefined;
  #hasEnded = false;
  #onKnown: (next: NextLeader) => void = ignore;

  /** @param lastRead - the leader's node as it was last read */
  constructor(search: SuccessorSearch, leader: Contender, lastRead: () => NodeContent | undefined) {
    this.#search = search;
    this.#leader = leader;
    this.#lastRead = lastRead;
  }

  /**
   * Lists the queue. Call it right after a claim was sent, or a read that may show a handover: then the list shows the
   * queue after that.
   */
  list(): void {
    this.look(this.#search.listOnce());
  }

  /** As {@link list}, unless the successor is known, or a listing is under way. */
  listUnlessKnown(): void {
    if (this.#state.name === 'unknown') this.list();
  }

  /** As {@link list}, with a listing that was sent at such a moment. */
  look(listing: Promise<ChildNames>): void {
    void this.#look(listing); // Never rejects.
  }

  /** When the term was claimed, no other candidate was in the queue. */
  beginAlone(): void {
    this.#become({ name: 'known', successor: undefined });
  }

  /** Called when the term wasn't this candidate's after all. */
  forget(): void {
    this.#become({ name: 'unknown' });
  }

  /**
   * Calls `listener` with the next leader as soon as it is known, and after each change. A candidate that the leader
   * names isn't reported.
   */
  whenKnown(listener: (next: NextLeader) => void): void {
    this.#onKnown = listener;
    this.#reportKnown();
  }

  #reportKnown(): void {
    const known = this.#hasEnded ? undefined : this.#known();
    if (known !== undefined) this.#onKnown(known);
  }

  /** The leader names the candidate that is to lead next. */
  name(successor: MarkedSuccessor): void {
    this.#named = successor;
  }

  /**
   * The candidate that leads next, at the term's end. Never rejects, and resolves after half a lease at most. If the
   * search fails, the queue decides.
   */
  async next(): Promise<NextLeader> {
    this.end();
    if (this.#named !== undefined) return { successor: this.#named };
    const known = this.#known();
    if (known !== undefined) return known;
    let next: NextLeader = {};
    const { clock, leaseMs, state } = this.#leader.session;
    if (state.name !== 'connected' || this.#leader.node.isGone) return next;
    const looking = async () => {
      if (this.#state.name === 'looking') await this.#state.ended; // A term may end at once.
      next = this.#known() ?? { successor: await this.#search.next(this.#leader.entry) };
    };
    await settledWithin(clock, looking(), leaseMs / 2);
    return next;
  }

  /**
   * As {@link next}, after the servers have refused its answer because a candidate has come, left, or changed its node.
   */
  async nextInstead(): Promise<NextLeader> {
    const named = this.#named?.node;
    this.#named = undefined;
    this.#state = { name: 'unknown' };
    const { clock, leaseMs } = this.#leader.session;
    const reading = async () => {
      this.#named = await this.#search.again(named);
    };
    if (named !== undefined) await settledWithin(clock, reading(), leaseMs / 2);
    return await this.next();
  }

  /** Stops looking for candidates. */
  end(): void {
    this.#hasEnded = true;
    this.#leader.session.heartbeat.removeSlowReads(this);
  }

  /**
   * The successor that was known when the leader's node was last read, unless a candidate with a priority has marked
   * that node.
   */
  #known(): NextLeader | undefined {
    const content = this.#lastRead();
    if (this.#state.name !== 'known' || content === undefined || hasPriorityMark(content.data))
      return undefined;
    return { successor: this.#state.successor, ifAt: content.version };
  }

  async #look(listing: Promise<ChildNames>, looksAtFirst = false): Promise<void> {
    const looking = async () => {
      try {
        const successor = await this.#search.next(this.#leader.entry, await listing, looksAtFirst);
        // Of several claims only the last one can have succeeded.
        if (this.#state === state) this.#become({ name: 'known', successor });
      } catch {
        if (this.#state === state) this.#become({ name: 'unknown' });
      }
    };
    const ended = looking();
    const state: State = { name: 'looking', ended };
    this.#become(state);
    await ended;
  }

  /** @internal */
  nextRead(): AccompanyingRead {
    const { session, queue } = this.#leader;
    return {
      request: getChildrenRequest(session.absolute(queue)),
      answered: (names) => {
        if (this.#hasEnded || this.#state.name !== 'known' || this.#state.successor !== undefined) return;
        const listed = this.#search.listed(this.#leader.entry, names as ChildNames);
        if (listed.kind === 'first' && listed.successor === undefined) return;
        void this.#look(Promise.resolve(names as ChildNames), true); // Never rejects. No candidate waits for this read.
      },
      refused: ignore,
    };
  }

  #become(next: State): void {
    this.#state = next;
    if (this.#hasEnded) return;
    this.#reportKnown();
    const { heartbeat } = this.#leader.session;
    if (next.name !== 'known' || next.successor !== undefined) heartbeat.removeSlowReads(this);
    else if (!heartbeat.addSlowReads(this)) this.#state = { name: 'unknown' };
  }
}

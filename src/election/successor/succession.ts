import type { NodeContent } from '../../lease/ephemeral-node.js';
import type { Contender } from '../../lock/queue/contender.js';
import { ignore, settledWithin } from '../../platform/async/promises.js';
import { nextTick } from '../../platform/time/timers.js';
import type { AccompanyingRead, AccompanyingReads } from '../../session/connection/heartbeat.js';
import type { ChildNames } from '../../session/protocol/child-names.js';
import { getChildrenRequest } from '../../session/protocol/requests.js';
import { hasPriorityMark } from '../nodes/candidate-request.js';
import type { MarkedSuccessor, Successor } from './successor.js';
import type { SuccessorSearch } from './successor-search.js';

/** Who leads next, as far as a leader knows when it gives its term back. */
export interface NextLeader {
  /** `undefined`: there is none, or it isn't known. */
  readonly successor?: Successor | undefined;
  /** It is so only as long as the leader's own node is at that version. */
  readonly ifAt?: number | undefined;
}

/**
 * - `unknown`: the queue has to be listed.
 * - `looking`: the listing isn't answered, or it shows one with a priority, and the node of that one is being read.
 * - `known`: that candidate; or none, while the queue is listed again as often as an idle session sends a ping. A session that
 *   leads several elections does that for one of them, and lists the queues of the others when it releases.
 */
type State =
  | { readonly name: 'unknown' }
  | { readonly name: 'looking'; readonly ended: Promise<void> }
  | { readonly name: 'known'; readonly successor: Successor | undefined };

/**
 * Which candidate leads after a leader, known before the term ends: then the release takes one write. The queue is listed right
 * behind the claim, unless that has shown that no other candidate is there. Who joins after that stands behind the first in the
 * queue; but a candidate with a priority is preferred, and marks the leader's node. So none is missed: the mark of a candidate whose `start()` has resolved has raised the
 * version of the leader's node, on which the release depends.
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
   * Lists the queue. To be called as soon as a claim has been sent, or a read that may show that a term was handed over: then the list
   * shows the queue after that.
   */
  list(): void {
    this.look(this.#search.listOnce());
  }

  /** As {@link list}, unless the successor is known, or a listing is under way. */
  listUnlessKnown(): void {
    if (this.#state.name === 'unknown') this.list();
  }

  /** As {@link list}, when what is under way has gone on. A term that ends before that lists the queue for itself. */
  listSoon(): void {
    nextTick(() => {
      if (!this.#hasEnded) this.list();
    });
  }

  /** As {@link list}, with a listing that was sent then. */
  look(listing: Promise<ChildNames>): void {
    void this.#look(listing); // Never rejects.
  }

  /** When the term was claimed, no other candidate was in the queue. */
  beginAlone(): void {
    this.#become({ name: 'known', successor: undefined });
  }

  /** The term wasn't this candidate's. */
  forget(): void {
    this.#become({ name: 'unknown' });
  }

  /** Calls `listener` with the next leader when it is known, unless the leader names another one, and whenever that changes. */
  whenKnown(listener: (next: NextLeader) => void): void {
    this.#onKnown = listener;
    this.#reportKnown();
  }

  #reportKnown(): void {
    const known = this.#hasEnded ? undefined : this.#known();
    if (known !== undefined) this.#onKnown(known);
  }

  /** The leader names the next one. */
  name(successor: MarkedSuccessor): void {
    this.#named = successor;
  }

  /**
   * Who leads next, asked at the term's end. Never rejects, and ends after half a lease at most: if it fails, the queue decides.
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

  /** The servers have refused what {@link next} gave: a candidate has come, left, or changed its node. */
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

  /** Looks for candidates no more. */
  end(): void {
    this.#hasEnded = true;
    this.#leader.session.heartbeat.removeSlowReads(this);
  }

  /** What was known when the leader's node was last read still counts, unless a candidate with a priority has marked that. */
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
        // Of several claims the last one is the one that succeeded, if any has.
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

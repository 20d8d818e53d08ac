import { settledWithin } from '../../platform/async/promises.js';
import type { Timer } from '../../platform/time/clock.js';
import { halfLeaseMs, heartbeatMs } from '../../platform/time/heartbeat-intervals.js';
import type { Contender } from '../../queue/contender.js';
import { isUnanswered } from '../../session/operations.js';
import type { Watcher } from '../../session/watch-registry.js';
import type { Successor } from './successor.js';
import { type ListedSuccessor, SuccessorSearch } from './successor-search.js';

/** What a search for the next leader needs of the present one. */
type Leader = Pick<Contender, 'session' | 'queue' | 'entry' | 'node'>;

/**
 * The candidate to which a leader gives its term back: by default the one with the highest priority, or the first in the queue.
 *
 * A listing with a watch shows it ahead of time, a quarter of a lease after the beginning and after each change of the queue. So a release
 * mostly needs no listing, and a leader lists a queue that changes all the time four times in a lease at most. If the queue has changed
 * since, the leader lists it at the release. So a candidate counts if the leader's session was notified of it before that.
 */
export class NextLeaderWatch implements Watcher {
  readonly search: SuccessorSearch;
  readonly #leader: Leader;
  #listed: ListedSuccessor | undefined;
  /** A listing that was sent before a change doesn't count. */
  #changes = 0;
  #timer: Timer | undefined;

  constructor(leader: Leader) {
    this.search = new SuccessorSearch(leader.session, leader.queue);
    this.#leader = leader;
  }

  /** The leader leads from now on. */
  begin(): void {
    const { clock, leaseMs } = this.#leader.session;
    this.#timer?.clear();
    this.#timer = clock.after(heartbeatMs(leaseMs), () => void this.#list(), { background: true });
  }

  /** The leader's node is about to go. That also ends the watch. */
  end(): void {
    this.#timer?.clear();
    this.#timer = undefined;
  }

  /** A candidate has come or gone. */
  changed(): void {
    this.#changes++;
    this.#listed = undefined;
    if (this.#timer !== undefined) this.begin();
  }

  async #list(): Promise<void> {
    if (this.#leader.node.isGone) return; // There is nothing to hand over, and the end of that node wouldn't end the watch.
    const changes = this.#changes;
    try {
      const listed = this.search.listed(this.#leader.entry, await this.search.listAndWatch(this));
      if (changes === this.#changes) this.#listed = listed;
    } catch (error) {
      if (isUnanswered(error)) this.changed(); // After a refusal, the release finds that it may not list the queue.
    }
  }

  /**
   * `undefined` if there is none, or if the search fails: then the queue decides. Never rejects, and resolves after half a lease at most.
   * @param refused - the servers haven't let this candidate lead: it has left, or its node has changed. A candidate that stands behind
   *   others is looked for once more, since it was chosen
   */
  async find(refused?: Successor): Promise<Successor | undefined> {
    const { session, node, entry } = this.#leader;
    if (node.isGone) return undefined;
    let successor: Successor | undefined;
    const searching = async () => {
      if (refused?.isFirst === false) successor = await this.search.again(refused.node);
      successor ??= await this.search.next(entry, refused === undefined ? this.#listed : undefined);
    };
    await settledWithin(session.clock, searching(), halfLeaseMs(session.leaseMs));
    return successor;
  }
}

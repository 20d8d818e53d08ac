import type { NodeContent } from '../../lease/ephemeral-node.js';
import type { Contender } from '../../lock/queue/contender.js';
import { settledWithin } from '../../platform/async/promises.js';
import type { Session } from '../../session/session.js';
import { type NextInLine, nextInLineIfAt } from './next-in-line.js';
import type { Successor } from './successor.js';

/**
 * Whether any candidate may lead before the next in the queue: if none may, a leader gives its term back without a delay. It
 * lists the queue right after its claim. A candidate with a priority that joins after that marks the leader's node ({@link
 * Successor.reportPriority}). So none is missed: the mark of a candidate whose `start()` has resolved has raised the version
 * of the leader's node, on which the release depends.
 */
export class ReleasePlan {
  readonly #session: Session;
  readonly #successor: Successor;
  readonly #leader: Contender;
  readonly #lastRead: () => NodeContent | undefined;
  #preferable: boolean | undefined;
  #listing: Promise<boolean | undefined> | undefined;

  constructor(
    session: Session,
    successor: Successor,
    leader: Contender,
    lastRead: () => NodeContent | undefined,
  ) {
    this.#session = session;
    this.#successor = successor;
    this.#leader = leader;
    this.#lastRead = lastRead;
  }

  /** Lists the queue. To be called as soon as a claim has been sent, so that the list shows the queue after that claim. */
  list(): void {
    const listing = this.#successor.mayPrefer(this.#leader);
    this.#listing = listing;
    this.#preferable = undefined;
    void listing.then((preferable) => {
      // Of several claims the last one is the one that succeeded, if any has.
      if (this.#listing === listing) this.#preferable = preferable;
    });
  }

  /**
   * Which candidate leads next, asked at the term's end. Nominates a candidate with a higher priority than the next in the
   * queue. Never rejects, and ends after half a lease at most: if it fails, the queue decides.
   */
  async next(): Promise<NextInLine> {
    const known = this.#known();
    if (known !== undefined) return known;
    const { clock, leaseMs, state } = this.#session;
    let next: NextInLine = {};
    if (!this.#leader.node.isHeld() || state.name !== 'connected') return next;
    const nominating = async () => {
      await this.#listing; // A term may end at once, and its listing is as good as another one.
      next = this.#known() ?? { successor: await this.#nominate() };
    };
    await settledWithin(clock, nominating(), leaseMs / 2);
    return next;
  }

  #known(): NextInLine | undefined {
    const version = nextInLineIfAt({ preferable: this.#preferable, node: this.#lastRead() });
    return version === undefined ? undefined : { ifAt: version, otherwise: () => this.#nominate() };
  }

  #nominate(): Promise<string | undefined> {
    return this.#successor.nominatePreferred(this.#leader);
  }
}

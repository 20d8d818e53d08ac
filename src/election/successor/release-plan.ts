import type { NodeContent } from '../../lease/ephemeral-node.js';
import type { Contender } from '../../lock/queue/contender.js';
import { settledWithin } from '../../platform/async/promises.js';
import type { Session } from '../../session/session.js';
import { type NextInLine, nextInLineIfAt } from './next-in-line.js';
import type { Successor } from './successor.js';

/**
 * What a leader knows of those who may lead next before the next in line: so that its term, when it ends, is given back
 * at once if there is nobody.
 *
 * Its queue is listed right behind its claim; who comes with a priority after that leaves a note on its node ({@link
 * Succession.announce}). With both, nobody is missed: the note of one whose `start()` has resolved raises the version of
 * the leader's node, on which the release depends.
 */
export class ReleasePlan {
  readonly #session: Session;
  readonly #succession: Successor;
  readonly #leader: Contender;
  readonly #readOwn: () => NodeContent | undefined;
  /** Whether anybody with a priority stood in the queue when the term began. */
  #preferable: boolean | undefined;
  #listing: Promise<boolean | undefined> | undefined;

  /** @param readOwn - gives the leader's node as it was last read */
  constructor(
    session: Session,
    succession: Successor,
    leader: Contender,
    readOwn: () => NodeContent | undefined,
  ) {
    this.#session = session;
    this.#succession = succession;
    this.#leader = leader;
    this.#readOwn = readOwn;
  }

  /** Lists the queue. To be called as soon as a claim has been sent: so it is listed as it is after that claim. */
  list(): void {
    const listing = this.#succession.mayPrefer(this.#leader);
    this.#listing = listing;
    this.#preferable = undefined;
    void listing.then((preferable) => {
      // Of several claims the last one is the one that succeeded, if any has.
      if (this.#listing === listing) this.#preferable = preferable;
    });
  }

  /**
   * Who leads next, asked at the term's end. One with a higher priority than the next in line is called. Never rejects,
   * and isn't waited for long: if it fails, the queue decides.
   */
  async next(): Promise<NextInLine> {
    const known = this.#known();
    if (known !== undefined) return known;
    const { clock, leaseMs, state } = this.#session;
    let next: NextInLine = {};
    if (!this.#leader.own.isCurrent() || state.name !== 'connected') return next;
    const looking = async () => {
      await this.#listing; // A term may end at once, and its listing is as good as another one.
      next = this.#known() ?? { successor: await this.#look() };
    };
    await settledWithin(clock, looking(), leaseMs / 2);
    return next;
  }

  #known(): NextInLine | undefined {
    const version = nextInLineIfAt({ preferable: this.#preferable, own: this.#readOwn() });
    return version === undefined ? undefined : { ifAt: version, otherwise: () => this.#look() };
  }

  #look(): Promise<string | undefined> {
    return this.#succession.callPreferred(this.#leader);
  }
}

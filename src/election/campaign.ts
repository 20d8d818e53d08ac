import type { Contender } from '../lock/queue/contender.js';
import { EXCLUSIVE, type TurnRule } from '../lock/queue/turn-rule.js';
import { type QueuePosition, untilTurn } from '../lock/queue/turn-wait.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { anyAbort, ignore } from '../platform/async/promises.js';
import type { ExpectedRecord } from './nodes/record.js';
import type { ReleasePlan } from './successor/release-plan.js';
import type { Claim } from './term/claim.js';
import type { Blocked, Claims, Turn } from './term/claimant.js';

/** What a campaign reports while it goes on. */
export interface CampaignListener {
  /** The contender has this position, and its campaign is notified when that changes. */
  onWaiting(position: QueuePosition): void;
  onClaiming(): void;
}

const NOTHING_KNOWN = Promise.resolve(undefined);

/** The reason with which a nomination interrupts a wait in the queue. Never seen outside. */
class Nomination extends Error {}

/**
 * One contender's way from the queue to a term: it waits for its turn, which comes when no contender is ahead or when it is
 * nominated to lead out of turn, and claims. As long as another candidate leads, or should lead before, it waits on.
 */
export class Campaign {
  readonly #contender: Contender;
  readonly #claims: Claims;
  /** All ahead must be gone, or, with several seats, all but as many as there are other seats. */
  readonly #rule: TurnRule;
  readonly #listener: CampaignListener;
  readonly #releasePlan: ReleasePlan | undefined;
  /** What was seen of the record when this contender joined, until its first wait. */
  #expected: ExpectedRecord | undefined;
  #nominations = new LazyAbortController();
  #nominatedAfter: string | undefined;

  /** @param expected - what may be claimed if it is the contender's turn at once */
  constructor(
    contender: Contender,
    claims: Claims,
    seats: number,
    listener: CampaignListener,
    releasePlan?: ReleasePlan,
    expected?: ExpectedRecord,
  ) {
    this.#expected = expected;
    this.#contender = contender;
    this.#claims = claims;
    this.#rule = seats === 1 ? EXCLUSIVE : { ...EXCLUSIVE, capacity: seats - 1 };
    this.#listener = listener;
    this.#releasePlan = releasePlan;
  }

  /** The leader, or the first in the queue, asks this candidate to lead when the node named `after` is gone. */
  nominate(after: string): void {
    // The request stays on the node, and is seen again with every other change of it.
    if (after === this.#nominatedAfter) return;
    this.#nominatedAfter = after;
    this.#nominations.abort(new Nomination());
  }

  /** @throws NodeLostError if the contender's node is gone, what ended the session, or the signal's reason */
  async untilElected(signal: Abortable): Promise<Claim> {
    let turn = await this.#untilTurn(signal);
    for (;;) {
      this.#listener.onClaiming();
      this.#contender.node.keepAlive();
      const outcome = await this.#claims.claim(this.#contender, turn, signal, () =>
        this.#releasePlan?.list(),
      );
      if (!('blockedBy' in outcome)) return outcome;
      turn = turn.outOfTurn ? await this.#untilTurn(signal) : await this.#untilUnblocked(outcome, signal);
    }
  }

  async #untilTurn(signal: Abortable): Promise<Turn> {
    const { controller, unsubscribe } = anyAbort(signal, this.#nominations);
    let expected = Promise.resolve(this.#expected);
    this.#expected = undefined;
    const onWaiting = ({ position, ahead }: QueuePosition) => {
      // What was read before says nothing of the record that the one ahead leaves behind.
      expected = position === 1 ? this.#claims.predictRecord(ahead, signal) : NOTHING_KNOWN;
    };
    const onWatching = (position: QueuePosition) => this.#listener.onWaiting(position);
    const onListing = () => {
      expected = this.#claims.readAhead(signal);
    };
    try {
      const options = { signal: controller, onWaiting, onWatching, onListing };
      await untilTurn(this.#contender, options, this.#rule);
      return { outOfTurn: false, expected: await expected };
    } catch (error) {
      if (!(error instanceof Nomination)) throw error;
      this.#nominations = new LazyAbortController();
      this.#contender.node.keepAlive();
      return { outOfTurn: await this.#untilGoneOrFirst(this.#nominatedAfter as string, signal) };
    } finally {
      unsubscribe();
    }
  }

  /** Whether the node is gone: `false` if the contender's turn has come first. The candidate that nominated it may never go. */
  async #untilGoneOrFirst(after: string, signal: Abortable): Promise<boolean> {
    const { controller, unsubscribe } = anyAbort(signal);
    const gone = this.#contender.untilGone(after, controller).then(() => true);
    const onWatching = (position: QueuePosition) => this.#listener.onWaiting(position);
    const turn = untilTurn(this.#contender, { signal: controller, onWatching }, this.#rule).then(() => false);
    try {
      return await Promise.race([gone, turn]);
    } finally {
      unsubscribe();
      controller.abort(undefined);
      for (const each of [gone, turn]) each.catch(ignore); // The other one doesn't matter any more.
    }
  }

  /** The contender is the first in the queue, and yet another candidate leads, or was nominated. */
  async #untilUnblocked({ blockedBy, atMostMs }: Blocked, signal: Abortable): Promise<Turn> {
    const expected = this.#claims.predictRecord(blockedBy, signal);
    this.#listener.onWaiting({ position: 1, ahead: blockedBy });
    await this.#contender.untilGone(blockedBy, signal, atMostMs);
    return { outOfTurn: false, expected: await expected };
  }
}

import type { Contender } from '../lock/queue/contender.js';
import type { TurnRule } from '../lock/queue/turn-rule.js';
import { type QueuePosition, untilTurn } from '../lock/queue/turn-wait.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { anyAbort, ignore } from '../platform/async/promises.js';
import type { ExpectedRecord } from './nodes/record.js';
import type { Claim } from './term/claim.js';
import type { Blocked, Claims, Turn } from './term/claimant.js';

/** What a campaign tells while it goes on. */
export interface CampaignListener {
  /** It has its place, and will be told when it comes nearer. */
  onWaiting(place: QueuePosition): void;
  onClaiming(): void;
  /** A claim has just been sent: what is asked now is answered right after it. */
  onClaimSent(): void;
}

const NOTHING_SEEN = Promise.resolve(undefined);

/** The reason with which a wait in the queue is interrupted. Never seen outside. */
class Call extends Error {}

/**
 * One contender's way from its place in the queue to a term: it waits for its turn, which comes when nobody is ahead or
 * when it is called out of turn, and claims; as long as somebody else leads or should lead before, it waits on.
 */
export class Campaign {
  readonly #contender: Contender;
  readonly #claims: Claims;
  readonly #admission: TurnRule;
  readonly #listener: CampaignListener;
  /** What was seen of the record when this contender joined. */
  #prepared: ExpectedRecord | undefined;
  #calls = new LazyAbortController();
  #lastCall: string | undefined;

  /**
   * @param admission - who must be gone before it is its turn
   * @param prepared - what may be claimed if it is its turn at once
   */
  constructor(
    contender: Contender,
    claims: Claims,
    admission: TurnRule,
    listener: CampaignListener,
    prepared?: ExpectedRecord,
  ) {
    this.#prepared = prepared;
    this.#contender = contender;
    this.#claims = claims;
    this.#admission = admission;
    this.#listener = listener;
  }

  /** Asked, by the leader or by the first in the queue, to lead when the node of that name is gone. */
  call(after: string): void {
    // The request stays on the node, and is seen again with every other change of it.
    if (after === this.#lastCall) return;
    this.#lastCall = after;
    this.#calls.abort(new Call());
  }

  /** @throws NodeLostError if the contender's node is gone, what ended the session, or the signal's reason */
  async untilElected(signal: Abortable): Promise<Claim> {
    let turn = await this.#untilTurn(signal);
    for (;;) {
      this.#listener.onClaiming();
      this.#contender.node.keepAlive();
      const outcome = await this.#claims.claim(this.#contender, turn, signal, () =>
        this.#listener.onClaimSent(),
      );
      if (!('behind' in outcome)) return outcome;
      turn = turn.outOfTurn ? await this.#untilTurn(signal) : await this.#waitBehind(outcome, signal);
    }
  }

  async #untilTurn(signal: Abortable): Promise<Turn> {
    const { controller, unsubscribe } = anyAbort(signal, this.#calls);
    let seen = Promise.resolve(this.#prepared);
    this.#prepared = undefined;
    const onWaiting = (place: QueuePosition) => {
      // What was seen before says nothing of what the one ahead leaves behind.
      seen = place.position === 1 ? this.#foresee(place.ahead, signal) : NOTHING_SEEN;
    };
    const onWatching = (place: QueuePosition) => this.#listener.onWaiting(place);
    const onListing = () => {
      seen = this.#claims.glance(signal);
    };
    try {
      await untilTurn(
        this.#contender,
        { signal: controller, onWaiting, onWatching, onListing },
        this.#admission,
      );
      return { outOfTurn: false, foresight: await seen };
    } catch (error) {
      if (!(error instanceof Call)) throw error;
      this.#calls = new LazyAbortController();
      this.#contender.node.keepAlive();
      return { outOfTurn: await this.#untilGoneOrFirst(this.#lastCall as string, signal) };
    } finally {
      unsubscribe();
    }
  }

  /** Whether the node is gone: `false` if its turn has come first. Whoever called may never go. */
  async #untilGoneOrFirst(after: string, signal: Abortable): Promise<boolean> {
    const { controller: over, unsubscribe } = anyAbort(signal);
    const gone = this.#contender.untilGone(after, over).then(() => true);
    const onWatching = (place: QueuePosition) => this.#listener.onWaiting(place);
    const first = untilTurn(this.#contender, { signal: over, onWatching }, this.#admission).then(() => false);
    try {
      return await Promise.race([gone, first]);
    } finally {
      unsubscribe();
      over.abort(undefined);
      for (const each of [gone, first]) each.catch(ignore); // The other one is of no interest any more.
    }
  }

  /** First in the queue, and yet somebody else leads, or has been called to. */
  async #waitBehind({ behind, atMostMs }: Blocked, signal: Abortable): Promise<Turn> {
    const foresight = this.#foresee(behind, signal);
    this.#listener.onWaiting({ position: 1, ahead: behind });
    await this.#contender.untilGone(behind, signal, atMostMs);
    return { outOfTurn: false, foresight: await foresight };
  }

  #foresee(ahead: string, signal: Abortable): Promise<ExpectedRecord | undefined> {
    return this.#claims.predictRecord(ahead, signal);
  }
}

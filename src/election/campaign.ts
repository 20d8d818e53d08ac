import { ZooKeeperError } from '../errors.js';
import type { Contender } from '../lock/queue/contender.js';
import { EXCLUSIVE, type TurnRule } from '../lock/queue/turn-rule.js';
import { type QueuePosition, untilTurn } from '../lock/queue/turn-wait.js';
import { type Abortable, LazyAbortController } from '../platform/async/lazy-abort.js';
import { anyAbort, type Deferred, deferred, ignore } from '../platform/async/promises.js';
import { nextTick } from '../platform/time/timers.js';
import type { AccompanyingRead } from '../session/connection/heartbeat.js';
import type { Vacancy } from './nodes/record.js';
import type { Claim } from './term/claim.js';
import type { Blocked, Claims, RecordReading, Turn } from './term/claimant.js';

/** Receives the reports of a campaign while it goes on. */
export interface CampaignListener {
  /** The contender has this position, and the servers will notify its campaign of a change. */
  onWaiting(position: QueuePosition): void;
  onClaiming(): void;
}

/** How a wait ends: the contender may claim, or it leads already because a leader handed its term over to it. */
type WaitEnd = Turn | { readonly handedOver: Claim };

type CampaignState =
  /** `mayLead`: the contender's node has changed before the campaign began. */
  | { readonly name: 'unstarted'; readonly mayLead: boolean }
  | { readonly name: 'waiting'; readonly signal: Abortable }
  | { readonly name: 'over' };

/** The leaders that a campaign follows during a wait. */
interface FollowedLeaders {
  /** @param position - how many nodes that block the contender are ahead of it in the queue */
  follow(position: number, ahead: string): void;
  /**
   * With one seat, a read of the record shows a candidate that it has become the third in line. That read replaces the
   * probe.
   */
  insteadOfProbe(secondPredecessor: string, probe: () => void): AccompanyingRead | undefined;
  stop(): void;
}

/**
 * One contender's way from the queue to a term. It waits until no contender is ahead, and claims; or a leader hands its
 * term over to it. As long as another candidate leads, it waits on.
 */
export class Campaign {
  readonly #contender: Contender;
  readonly #claims: Claims;
  /** With one seat all contenders ahead must be gone. With n seats, n - 1 of them may be left. */
  readonly #rule: TurnRule;
  readonly #listener: CampaignListener;
  /** The record as it was when this contender joined, if that was vacant. Kept until the first wait. */
  #vacancy: Vacancy | undefined;
  /** Aborts when the campaign is over. */
  readonly #over = new LazyAbortController();
  /** Resolves because a term was handed over. Rejects if the servers refuse to show whether one was. */
  #interruption: Promise<WaitEnd> | undefined;
  /**
   * Ends the wait that is under way. Each wait has its own: one promise for all would collect the callbacks of very
   * many waits.
   */
  #interrupted: Deferred<WaitEnd> | undefined;
  /** The read of the record that is under way because a term may have been handed over. Never rejects. */
  #looking: Promise<Claim | undefined> | undefined;
  /** Whether the contender's node has changed since the record was read last. */
  #hasChanged = false;
  #state: CampaignState = { name: 'unstarted', mayLead: false };

  /** @param vacancy - what may be claimed if it is the contender's turn at once */
  constructor(
    contender: Contender,
    claims: Claims,
    seats: number,
    listener: CampaignListener,
    vacancy?: Vacancy,
  ) {
    this.#vacancy = vacancy;
    this.#contender = contender;
    this.#claims = claims;
    this.#rule = seats === 1 ? EXCLUSIVE : { ...EXCLUSIVE, capacity: seats - 1 };
    this.#listener = listener;
  }

  /**
   * The contender's node has changed, mostly because a leader handed its term over. The record shows whether that is
   * so.
   */
  mayLead(): void {
    if (this.#state.name === 'unstarted') this.#state = { name: 'unstarted', mayLead: true };
    if (this.#state.name !== 'waiting') return;
    this.#lookAt(undefined, this.#state.signal);
  }

  /** @param sent - a read of the record that was sent just now. It is used unless another read is under way */
  #lookAt(sent: RecordReading | undefined, signal: Abortable): void {
    this.#hasChanged = true; // A read that is under way may show an older record.
    this.#looking ??= this.#look(sent, signal);
  }

  /** Reads the record, and again if it may have changed meanwhile. Never rejects. */
  async #look(first: RecordReading | undefined, signal: Abortable): Promise<Claim | undefined> {
    const { controller, unsubscribe } = anyAbort(signal, this.#over);
    let sent = first;
    let claim: Claim | undefined;
    try {
      while (this.#hasChanged && claim === undefined) {
        this.#hasChanged = false;
        claim = await this.#claims.handedOver(this.#contender, controller, sent);
        sent = undefined;
      }
      if (claim !== undefined) this.#interrupt(Promise.resolve({ handedOver: claim }));
    } catch (error) {
      // The contender may hold a term that it can't take up, so it has to leave. All other errors that end this read
      // end the wait as well.
      if (error instanceof ZooKeeperError) this.#interrupt(Promise.reject(error));
    } finally {
      unsubscribe();
      this.#looking = undefined;
    }
    return claim;
  }

  /** Ends the wait that is under way, or the next one. */
  #interrupt(end: Promise<WaitEnd>): void {
    end.catch(ignore); // If no wait is left, nothing depends on this promise.
    this.#interruption = end;
    this.#interrupted?.resolve(end);
  }

  /** @throws NodeLostError if the contender's node is gone, the error that ended the session, or the signal's reason */
  async untilElected(signal: Abortable): Promise<Claim> {
    const { mayLead } = { mayLead: false, ...this.#state };
    this.#state = { name: 'waiting', signal };
    if (mayLead) this.mayLead();
    try {
      let end = await this.#untilTurn(signal);
      for (;;) {
        this.#listener.onClaiming();
        if ('handedOver' in end) return end.handedOver;
        this.#contender.node.keepAlive();
        // The event of the predecessor's end comes right behind the handover. The read of the record may still be under
        // way.
        const handed = await this.#looking;
        if (handed !== undefined) return handed;
        const outcome = await this.#claims.claim(this.#contender, end, signal);
        if (!('blockedBy' in outcome)) return outcome;
        end = end.outOfTurn ? await this.#untilTurn(signal) : await this.#untilUnblocked(outcome, signal);
      }
    } finally {
      this.#state = { name: 'over' }; // Later writes on this contender's node are requests to a leader.
      this.#over.abort(undefined);
    }
  }

  async #untilTurn(signal: Abortable): Promise<WaitEnd> {
    const vacancy = this.#vacancy;
    this.#vacancy = undefined;
    let hasWaited = false;
    let reading: RecordReading | undefined;
    return await this.#until(signal, async (failures, controller) => {
      const onWaiting = ({ position, ahead }: QueuePosition) => {
        hasWaited = true;
        reading = undefined;
        failures.follow(position, ahead);
      };
      const onWatching = (position: QueuePosition) => this.#listener.onWaiting(position);
      // The term may have been handed over. A read of the record shows that. The listing goes out behind that read, so
      // it shows the queue after the handover.
      const beforeListing = () => {
        reading = this.#claims.readAhead(signal);
        if (reading !== undefined) this.#lookAt(reading, signal);
      };
      const { insteadOfProbe } = failures;
      const options = { signal: controller, onWaiting, onWatching, beforeListing, insteadOfProbe };
      await untilTurn(this.#contender, options, this.#rule);
      // A vacancy that was read before the wait says nothing about the record that the predecessor has left behind.
      return { outOfTurn: false, vacancy: hasWaited ? undefined : vacancy, reading };
    });
  }

  /** Waits though the contender is the first in the queue, because another candidate leads. */
  async #untilUnblocked({ blockedBy }: Blocked, signal: Abortable): Promise<WaitEnd> {
    return await this.#until(signal, async (failures, controller) => {
      failures.follow(0, blockedBy);
      this.#listener.onWaiting({ position: 1, ahead: blockedBy });
      await this.#contender.untilGone(blockedBy, controller);
      return { outOfTurn: false };
    });
  }

  /** Waits as `wait` does. Ends earlier if a term is handed over or a leader fails. */
  async #until(
    signal: Abortable,
    wait: (failures: FollowedLeaders, controller: LazyAbortController) => Promise<Turn>,
  ): Promise<WaitEnd> {
    if (this.#interruption !== undefined) return await this.#interruption;
    const interrupted = deferred<WaitEnd>();
    this.#interrupted = interrupted;
    const failures = this.#followLeaders(interrupted);
    const { controller, unsubscribe } = anyAbort(signal);
    try {
      return await Promise.race([interrupted.promise, wait(failures, controller)]);
    } finally {
      unsubscribe();
      controller.abort(undefined); // The rest of the wait reports nothing any more.
      nextTick(failures.stop); // If the contender leads now, it goes on first.
    }
  }

  /** Follows the leaders while the contender waits. The failure of one interrupts the wait. */
  #followLeaders(interrupted: Deferred<WaitEnd>): FollowedLeaders {
    let nearest: string | undefined;
    const detectors = this.#claims.detectors(this.#contender, {
      onThird: () => {
        if (nearest !== undefined) this.#listener.onWaiting({ position: 2, ahead: nearest });
      },
      // Other candidates may be ahead in the queue. If the claim is refused, the contender waits on.
      onFailure: (failure) => interrupted.resolve({ outOfTurn: true, failure }),
    });
    return {
      follow: (position, ahead) => {
        nearest = ahead;
        for (const detector of detectors) detector.follow(position, ahead);
      },
      insteadOfProbe: (secondPredecessor, probe) =>
        detectors.length === 1 ? detectors[0]?.lookForLeader(secondPredecessor, probe) : undefined,
      stop: () => {
        for (const detector of detectors) detector.stop();
      },
    };
  }
}

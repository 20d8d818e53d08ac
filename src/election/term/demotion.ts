import { type DemotionReason, SessionExpiredError } from '../../errors.js';
import { RecordLostError } from '../../lease/node-with-heartbeat.js';
import { isRefusal } from '../../lease/own-node.js';
import type { LazyAbortController } from '../../platform/async/lazy-abort-controller.js';
import { deferred, whenSettled } from '../../platform/async/promises.js';
import type { Session } from '../../session/session.js';
import type { Claim } from './term.js';

const LOSSES: Readonly<Record<DemotionReason, boolean>> = {
  'lease-expired': true,
  'session-expired': true,
  'node-deleted': true,
  superseded: true,
  'record-overwritten': true,
  refused: true,
  resigned: false,
  finished: false,
  revoked: false,
  stopped: false,
};

/** Whether a term that ended for this reason was lost: its leader didn't give it back. */
export function isLoss(reason: DemotionReason): boolean {
  return LOSSES[reason];
}

/**
 * Why a term was lost. It may have ended for another reason before its lease was over or its node was gone. `stopped` if this
 * process closed the session.
 * @param reason - the reason of its end, as it was announced
 * @param lost - of the leader's node
 */
export function lossOf(
  reason: DemotionReason,
  lost: LazyAbortController<Error>,
  session: { readonly aborted: boolean; readonly reason: unknown },
): DemotionReason {
  if (session.aborted) return session.reason instanceof SessionExpiredError ? 'session-expired' : 'stopped';
  if (isLoss(reason)) return reason;
  if (!lost.aborted) return 'lease-expired';
  if (isRefusal(lost.reason)) return 'refused';
  return lost.reason instanceof RecordLostError ? 'record-overwritten' : 'node-deleted';
}

/**
 * Finds out why a leader's node is gone. The term ended as soon as the elector saw that.
 *
 * The deletion may be another client's, or the first sign of the session's end: a server that ends a session deletes its nodes first.
 * Whether it notifies the session of that before it ends the connection is a race, which goes either way with ZooKeeper 3.8 and 3.9. An
 * answer over the same connection shows that the session lives, because events and answers keep their order. The record shows whether
 * another candidate took over: that candidate wrote the record in the transaction that deleted the node.
 */
export class Demotion {
  readonly #session: Session;
  readonly #concluded = deferred();
  #announce: ((reason: DemotionReason) => void) | undefined;
  #wasSuperseded = false;

  /** @param announce - called once, when the reason is known, or after a lease with the reason that is most likely by then */
  constructor(session: Session, claim: Claim, announce: (reason: DemotionReason) => void) {
    this.#session = session;
    this.#announce = announce;
    const asked = session
      .retryUntilAnswered(() => session.exists(claim.record)) // A refusal is an answer, too.
      .then((stat) => {
        this.#wasSuperseded = stat !== undefined && stat.version !== claim.version;
      });
    whenSettled(session.clock, asked, session.leaseMs, () => this.conclude());
  }

  get concluded(): Promise<void> {
    return this.#concluded.promise;
  }

  /** Announces the reason by the present knowledge, unless one was announced before. */
  conclude(): void {
    const announce = this.#announce;
    this.#announce = undefined;
    announce?.(this.#reason());
    this.#concluded.resolve();
  }

  #reason(): DemotionReason {
    if (this.#session.ended.reason instanceof SessionExpiredError) return 'session-expired';
    return this.#wasSuperseded ? 'superseded' : 'node-deleted';
  }
}

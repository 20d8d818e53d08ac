import { type DemotionReason, SessionExpiredError } from '../../errors.js';

const LOSSES: Readonly<Record<DemotionReason, boolean>> = {
  'lease-expired': true,
  'session-expired': true,
  'node-deleted': true,
  superseded: true,
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
 */
export function lossOf(
  reason: DemotionReason,
  isNodeGone: boolean,
  session: { readonly aborted: boolean; readonly reason: unknown },
): DemotionReason {
  if (session.aborted) return session.reason instanceof SessionExpiredError ? 'session-expired' : 'stopped';
  if (isLoss(reason)) return reason;
  return isNodeGone ? 'node-deleted' : 'lease-expired';
}

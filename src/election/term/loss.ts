import type { DemotionReason } from '../../errors.js';

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

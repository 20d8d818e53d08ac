/**
 * `conclave/held-term`: for worker threads that act in a term which another thread of the process holds. It loads nothing of the session.
 * Its errors are those of `conclave`.
 */
export {
  ConclaveError,
  InvalidOptionError,
  ShardEndedError,
  TermEndedError,
} from '../base-errors.js';
export { heldTerm, type TermHandle, type TermOfHandle } from '../lease/term-handle.js';
export type { DemotionReason, ShardEndReason } from '../term-end-reasons.js';

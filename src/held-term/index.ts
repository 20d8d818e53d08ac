/**
 * `conclave/held-term`: for worker threads that act in a term which another thread of the process holds. It loads nothing of the session.
 * Its errors are those of `conclave`.
 */
export {
  ConclaveError,
  type DemotionReason,
  InvalidOptionError,
  ShardEndedError,
  type ShardEndReason,
  TermEndedError,
} from '../base-errors.js';
export { heldTerm, type TermHandle, type TermOfHandle } from '../lease/term-handle.js';

import type { LostTermBackoff } from './lost-term-backoff.js';

/** What a candidate knows of its election from the places in the queue that it has had. It outlasts them, and the candidate's sessions. */
export class CandidateMemory {
  /** See `KnownRecord`. */
  hadPlace = false;
  /** The longest lease that a leader of the election may have, as far as the candidate has seen, in milliseconds. */
  longestLeaseMs = 0;
  readonly backoff: LostTermBackoff;

  constructor(backoff: LostTermBackoff) {
    this.backoff = backoff;
  }
}

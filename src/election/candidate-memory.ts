import type { Environment } from '../platform/injected-environment.js';
import type { Logger } from '../platform/logging/logger.js';
import { RejoinBackoff } from './rejoin-backoff.js';

/** What a candidate knows of its election from the places in the queue that it has had. It outlasts them, and the candidate's sessions. */
export class CandidateMemory {
  /** See `KnownRecord`. */
  hadPlace = false;
  /** The longest lease that a leader of the election may have, as far as the candidate has seen, in milliseconds. */
  longestLeaseMs = 0;
  readonly backoff: RejoinBackoff;

  constructor(environment: Pick<Environment, 'clock' | 'random'>, logger: Logger) {
    this.backoff = new RejoinBackoff(environment, logger);
  }
}

import type { GuardedTransaction } from '../../lease/guarded-transaction.js';

/**
 * Leadership: a value with a lifetime. It is yours while {@link Term.isHeld} says so, asked right before acting.
 *
 * Guaranteed, with the takeover delay on: whoever acts only while `isHeld()` never acts at the same time as another
 * leader, if clocks run at rates within 1 % of each other. Not guaranteed: what is begun while it is held and lasts
 * longer than `remainingMs()`. For that, and where clocks can't be trusted, let what you write to refuse lower tokens.
 */
export interface Term {
  /** 1 for the election's first term, and one more for each that follows. */
  readonly number: number;
  /** Which of the election's seats it is for, from 0; each has terms of its own. 0 in an election with one leader. */
  readonly seat: number;
  /** The fencing token: higher than that of every earlier term, also when the election was deleted in between. */
  readonly token: bigint;
  /**
   * Aborts when the term ends, before anything else happens, with a `TermEndedError` that has the reason. An abort
   * listener that throws is an uncaught exception, as with any AbortSignal: Node reports it, not this library.
   */
  readonly signal: AbortSignal;
  /** Whether this process leads at this very moment: asks the clock, so it is right after any pause. */
  isHeld(): boolean;
  /** @throws TermEndedError unless the term is held at this very moment */
  assertHeld(): void;
  /** How long it is held without another word from a server, in milliseconds; 0 when it is over. */
  remainingMs(): number;
  /**
   * Counts `work` as the leader's: when the term ends, leadership isn't given away before it has settled. A
   * rejection is reported through `error`. Work that calls `resign()` or `stop()` and waits for it is given as a
   * function, which is called right after: of a promise nobody can tell that it waits for its own end.
   *
   * @throws TermEndedError if the term has been given away already
   */
  waitUntil(work: Promise<unknown> | (() => unknown)): void;
  /**
   * Writes in ZooKeeper that are carried out only while this term's node exists: true fencing, whatever the clocks do.
   * It exists until the term's work has settled, so work may write for the last time after `signal` has aborted.
   */
  transaction(): GuardedTransaction;
}

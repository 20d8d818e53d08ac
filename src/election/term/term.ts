import type { GuardedTransaction } from '../../lease/guarded-transaction.js';

/**
 * Leadership: a value with a lifetime. Ask {@link Term.isHeld} right before each action.
 *
 * Guaranteed: a process that acts only while `isHeld()` never acts at the same time as another leader, if the rates of their
 * clocks differ by 1 % at most.
 *
 * Not guaranteed for an action that lasts longer than `remainingMs()`, nor for one before which you didn't ask `isHeld()`:
 * another candidate leads as soon as the lease is surely over, or the session (see `takeover`). For such actions, and where
 * clocks can't be trusted, let the resource refuse lower tokens.
 */
export interface Term {
  /** 1 for the election's first term, and one more for each that follows. */
  readonly number: number;
  /** The seat that is led, from 0. Each seat has terms of its own. Always 0 in an election with one leader. */
  readonly seat: number;
  /** The fencing token: higher than that of every earlier term, also when the election was deleted in between. */
  readonly token: bigint;
  /**
   * Aborts when the term ends, before anything else happens, with a `TermEndedError` that has the reason. If an abort
   * listener throws, Node reports an uncaught exception, as with any AbortSignal.
   */
  readonly signal: AbortSignal;
  /** Whether this process leads at this moment. It asks the clock at each call, so the answer is right after any pause. */
  isHeld(): boolean;
  /** @throws TermEndedError unless the term is held at this very moment */
  assertHeld(): void;
  /** How long the term lasts if no server answers any more, in milliseconds. 0 when it has ended. */
  remainingMs(): number;
  /**
   * Counts `work` as the leader's: when the term ends, it isn't released before that work has settled. A rejection is
   * reported by an `error` event.
   *
   * Give a function if the work calls `resign()` or `stop()` and waits for it. The function is called right after this call.
   * With a promise, the work would wait for its own end.
   *
   * @throws TermEndedError if the term has been released already
   */
  waitUntil(work: Promise<unknown> | (() => unknown)): void;
  /**
   * Writes in ZooKeeper that are carried out only while this term's node exists. This fencing depends on no clock. The node
   * exists until the term's work has settled, so the work may still write after `signal` has aborted.
   */
  transaction(): GuardedTransaction;
}

import type { GuardedTransaction } from '../../lease/guarded-transaction.js';

/**
 * Leadership: a value with a lifetime. Ask {@link Term.isHeld} right before each action.
 *
 * Guaranteed: processes that act only while `isHeld()` never act at the same time as another leader, if their clocks' rates
 * differ by 1 % at most. Not guaranteed for an action that is begun while the term is held and lasts longer than
 * `remainingMs()`, nor for one before which `isHeld()` wasn't asked: another leads as soon as the lease is surely over, or the
 * session, see `takeover`. For those, and where clocks can't be trusted, let the resource refuse lower tokens.
 */
export interface Term {
  /** 1 for the election's first term, and one more for each that follows. */
  readonly number: number;
  /** The election's seat that it is for, from 0; each seat has terms of its own. 0 in an election with one leader. */
  readonly seat: number;
  /** The fencing token: higher than that of every earlier term, also when the election was deleted in between. */
  readonly token: bigint;
  /**
   * Aborts when the term ends, before anything else happens, with a `TermEndedError` that has the reason. If an abort
   * listener throws, Node reports an uncaught exception, as with any AbortSignal.
   */
  readonly signal: AbortSignal;
  /** Whether this process leads at this very moment. It asks the clock, so the answer is right after any pause. */
  isHeld(): boolean;
  /** @throws TermEndedError unless the term is held at this very moment */
  assertHeld(): void;
  /** How long it is held if no server answers again, in milliseconds; 0 when it has ended. */
  remainingMs(): number;
  /**
   * Counts `work` as the leader's: when the term ends, it isn't given back before that work has settled. A rejection is
   * reported by an `error` event. Give work that calls `resign()` or `stop()` and waits for it as a function, which is called
   * right after: the library can't tell of a promise that it waits for its own end.
   *
   * @throws TermEndedError if the term has been given back already
   */
  waitUntil(work: Promise<unknown> | (() => unknown)): void;
  /**
   * Writes in ZooKeeper that are carried out only while this term's node exists: fencing that depends on no clock. The node
   * exists until the term's work has settled, so work may write for the last time after `signal` has aborted.
   */
  transaction(): GuardedTransaction;
}

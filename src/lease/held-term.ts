import type { GuardedTransaction } from './guarded-transaction.js';
import type { TermHandle } from './term-handle.js';

/**
 * A term that this process has begun, of an election or of a shard: a value with a lifetime. Ask {@link HeldTerm.isHeld} right before
 * each action.
 *
 * Guaranteed: a process that acts only while `isHeld()` never acts at the same time as the holder of another term of the same election,
 * or of the same shard, if the rates of their clocks differ by 1 % at most.
 *
 * Not guaranteed for an action that lasts longer than `remainingMs()`, nor for one before which you didn't ask `isHeld()`: another
 * process holds the next term as soon as the lease is surely over. For such actions, and where clocks
 * can't be trusted, let the resource refuse lower tokens.
 */
export interface HeldTerm {
  /** 1 for the first term of the election, or of the shard, and one more for each that follows. */
  readonly number: number;
  /**
   * The fencing token: higher than that of every earlier term of the same election or shard, also when the election or the group was
   * deleted in between. Tokens of different elections or shards say nothing about each other.
   */
  readonly token: bigint;
  /**
   * Aborts when the term ends, before anything else happens, with an error that has the reason: `TermEndedError`, or `ShardEndedError`
   * of a shard. If an abort listener throws, Node reports an uncaught exception, as with any AbortSignal.
   */
  readonly signal: AbortSignal;
  /**
   * Resolves when the term has ended, for any reason, right after `signal` has aborted. Never rejects. It says nothing about the
   * work, which may still have to settle.
   *
   * @example
   * ```ts
   * lead: async (term) => {
   *   await consumer.start();
   *   await term.ended;
   *   await consumer.stop(); // The term isn't given back before.
   * },
   * ```
   */
  readonly ended: Promise<void>;
  /** Whether this process holds the term at this moment. It asks the clock at each call, so the answer is right after any pause. */
  isHeld(): boolean;
  /** @throws TermEndedError, or ShardEndedError of a shard, unless the term is held at this very moment */
  assertHeld(): void;
  /** How long the term still lasts if no server answers again, in milliseconds. 0 when it has ended. */
  remainingMs(): number;
  /**
   * Counts `work` as the holder's: when the term ends, it isn't released before that work has settled. A rejection is reported by an
   * `error` event.
   *
   * Give a function if the work calls `resign()`, `drain()` or `stop()` and waits for it. The function is called right after this call.
   * With a promise, the work would wait for its own end.
   *
   * @throws TermEndedError, or ShardEndedError of a shard, if the term has been released already
   */
  waitUntil(work: Promise<unknown> | (() => unknown)): void;
  /**
   * Writes in ZooKeeper that are carried out only while the term's node exists and, of a shard, while its record names this process.
   * This fencing depends on no clock. The term isn't released until its work has settled, so the work may still write after `signal`
   * has aborted.
   */
  transaction(): GuardedTransaction;
  /**
   * A handle for other threads of this process, where `heldTerm(handle)` asks whether the term is held, also while this thread is blocked.
   * The first call makes it: from then on each heartbeat also extends the lease that the other threads see. Later calls return the same
   * object. The handle of a term that has ended says so.
   *
   * Guaranteed: the other threads see the end of the term before `signal` aborts. If one of them finds the lease over first, `isHeld()` of
   * this term is `false` from then on, and the term ends with `lease-expired`.
   *
   * Not guaranteed: that the term lasts while this thread is blocked. This thread sends the heartbeats, unless the session has `maxStallMs`.
   *
   * @throws InvalidStateError if the session has a clock of its own, by `session.environment`, as with a `TestClock`. On Bun and Deno also
   *   where threads share no clock: on systems other than Linux
   */
  handle(): TermHandle;
}

import { InvalidStateError, LockLostError } from '../../errors.js';
import { type GuardedTransaction, HolderTransaction } from '../../lease/guarded-transaction.js';
import { LazyAbortController, onAbort } from '../../platform/async/lazy-abort-controller.js';
import { mark } from '../../public-class/instance-brand.js';
import { showAs } from '../../public-class/shown-in-console.js';
import type { GrantHold, LockHold } from '../lock-hold.js';
import type { ReentrantGrant } from '../reentrant-grant.js';

/** One hold on several locks together. */
export class MultiHold implements LockHold {
  /** The holds on the single locks, in the order in which they were taken. */
  readonly holds: readonly LockHold[];
  /**
   * The highest of the tokens. It rises from one hold of the same locks to the next. If the sets of locks differ, use the tokens
   * of `holds`.
   */
  readonly token: bigint;
  /** The path of the newest of the holds' nodes. */
  readonly path: string;
  readonly #holds: readonly GrantHold[];
  readonly #ended = new LazyAbortController<Error>();
  readonly #unsubscribe: (() => void)[];

  /** @internal @param holds - one or more @throws LockLostError if one of them isn't held */
  constructor(holds: readonly GrantHold[]) {
    for (const hold of holds) hold.assertHeld();
    const newest = holds.reduce((one, other) => (other.token > one.token ? other : one));
    this.holds = holds;
    this.token = newest.token;
    this.path = newest.path;
    this.#holds = holds;
    this.#unsubscribe = holds.map(({ signal }) => onAbort(signal, () => this.#end(signal.reason)));
  }

  /** @internal */
  get grants(): readonly ReentrantGrant[] {
    return this.#holds.map(({ grant }) => grant);
  }

  /** Aborts with `LockLostError` as soon as one of the locks is no longer held. The other locks stay held until you call `release()`. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** @internal */
  get seemsHeld(): boolean {
    return !this.#ended.aborted && this.#holds.every((hold) => hold.seemsHeld);
  }

  isHeld(): boolean {
    return !this.signal.aborted && this.#holds.every((hold) => hold.isHeld());
  }

  assertHeld(): void {
    if (!this.isHeld()) throw this.signal.reason;
  }

  remainingMs(): number {
    return this.signal.aborted ? 0 : Math.min(...this.#holds.map((hold) => hold.remainingMs()));
  }

  /**
   * Begins a transaction in ZooKeeper that the servers carry out only while the nodes of all holds exist. @throws
   * InvalidStateError if the locks belong to several sessions; then use the transactions of the single `holds`
   */
  transaction(): GuardedTransaction {
    const [first, ...others] = this.#holds as readonly [GrantHold, ...GrantHold[]];
    const { session } = first.grant;
    if (others.some(({ grant }) => grant.session !== session))
      throw new InvalidStateError('the locks belong to several sessions: use the transactions of `holds`');
    return new HolderTransaction([first.node, ...others.map(({ node }) => node)], () => {
      this.isHeld(); // Ends the hold, if nothing else has.
      return this.signal.reason;
    });
  }

  async release(): Promise<void> {
    this.#end(new LockLostError('released'));
    await Promise.all(this.#holds.map((hold) => hold.release()));
  }

  /** Releases all locks, for `await using`: the same as `release()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  #end(reason: Error): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    if (!this.signal.aborted) this.#ended.abort(reason);
  }
}

mark(MultiHold, 'MultiHold');
showAs(MultiHold, ({ holds, token, seemsHeld: held }) => ({ token, held, holds }));

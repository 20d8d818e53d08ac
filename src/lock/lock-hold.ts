import { LockLostError } from '../errors.js';
import type { GuardedTransaction } from '../lease/guarded-transaction.js';
import type { OwnNode } from '../lease/own-node.js';
import { type LossReason, Validity } from '../lease/validity.js';
import { deferred, whenSettled } from '../platform/async/promises.js';
import { mark } from '../public-class/instance-brand.js';
import { showAs } from '../public-class/shown-in-console.js';
import type { Mode, ReentrantGrant } from './reentrant-grant.js';

/** One hold on a lock. Check {@link LockHold.isHeld} right before each act, and give {@link LockHold.token} to the protected resource. */
export interface LockHold {
  /**
   * The fencing token, which rises from one hold of the lock to the next. Give it to the resource that the lock protects, and let
   * that refuse lower tokens.
   */
  readonly token: bigint;
  /** The path of the node that stands for this hold. */
  readonly path: string;
  /** Aborts with `LockLostError` when the lock is no longer held, also after `release()`. */
  readonly signal: AbortSignal;
  /** Whether the lock is held at this very moment. It asks the clock, so the answer is right after any pause. */
  isHeld(): boolean;
  /** @throws LockLostError unless the lock is held at this very moment */
  assertHeld(): void;
  /** How long the lease still lasts unless another heartbeat extends it, in milliseconds; 0 when it is over. */
  remainingMs(): number;
  /** Begins a transaction in ZooKeeper that the servers carry out only while this hold's node exists. */
  transaction(): GuardedTransaction;
  /**
   * Releases the lock; calling it again is harmless. Resolves when the node is gone or the session is over. While no server can be reached,
   * it resolves after one lease at most, and the session deletes the node as soon as it reaches a server. Never rejects.
   */
  release(): Promise<void>;
  /** Releases the lock, for `await using`: the same as `release()`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** One of the holds on a {@link ReentrantGrant}. */
export class GrantHold extends Validity implements LockHold {
  readonly token: bigint;
  readonly path: string;
  /** @internal */
  readonly grant: ReentrantGrant;
  /** @internal */
  readonly mode: Mode;
  #releasing: Promise<void> | undefined;

  /** @throws LockLostError if the grant is lost */
  constructor(grant: ReentrantGrant, mode: Mode) {
    const { contender, session } = grant;
    grant.begin(mode);
    super(contender.node, session.clock);
    this.token = contender.czxid;
    this.path = contender.node.path;
    this.grant = grant;
    this.mode = mode;
  }

  /** @internal The node that stands for this hold. */
  get node(): OwnNode {
    return this.grant.contender.node;
  }

  release(): Promise<void> {
    return this.#end(
      () => new LockLostError('released'),
      () => this.grant.end(this.mode),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** A lost lock is released, too: its node may still exist, and the contenders behind it wait for its end. */
  protected override onLoss(reason: LossReason, cause?: Error): void {
    const error = new LockLostError(reason, { cause });
    void this.#end(
      () => error,
      () => this.grant.lose(error),
    );
  }

  /** The first end counts, even if a listener of the signal releases at once. */
  #end(reason: () => LockLostError, release: () => Promise<void>): Promise<void> {
    if (this.#releasing === undefined) {
      const released = deferred();
      this.#releasing = released.promise;
      this.endHold(reason);
      this.letGo();
      const { clock, leaseMs } = this.grant.session;
      whenSettled(clock, release(), leaseMs, released.resolve);
    }
    return this.#releasing;
  }
}

mark(GrantHold, 'LockHold');
showAs(GrantHold, ({ path, token, seemsHeld: held }) => ({ path, token, held }));

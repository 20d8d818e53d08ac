import { mark } from '../classes/copies.js';
import { showAs } from '../classes/inspection.js';
import { LockLostError } from '../errors.js';
import type { EphemeralNode } from '../lease/ephemeral-node.js';
import type { GuardedTransaction } from '../lease/guarded-transaction.js';
import { Hold, type LossReason } from '../lease/hold.js';
import { deferred, whenSettled } from '../platform/async/promises.js';
import type { LockGrant, Mode } from './grant.js';

/** A lock, held. */
export interface LockHold {
  /** Rises from one hold of the lock to the next. Give it to what the lock protects, which refuses lower ones. */
  readonly token: bigint;
  /** The path of the node that stands for this hold. */
  readonly path: string;
  /** Aborts when the lock is no longer held, with `LockLostError`, also after `release()`. */
  readonly signal: AbortSignal;
  /** Whether it is held at this very moment: asks the clock, so it is right after any pause. */
  isHeld(): boolean;
  /** @throws LockLostError unless it is held at this very moment */
  assertHeld(): void;
  /** How long it can be held without another word from a server, in milliseconds. */
  remainingMs(): number;
  /** Writes in ZooKeeper that are carried out only while this hold's node exists. */
  transaction(): GuardedTransaction;
  /**
   * Gives the lock up, any number of times. Resolves when the node is gone or the session is over; while no server
   * can be reached, after one lease at most, and the node is deleted as soon as one can be. Never rejects.
   */
  release(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** One of the holds on a {@link LockGrant}. */
export class GrantHold extends Hold implements LockHold {
  readonly token: bigint;
  readonly path: string;
  readonly #place: LockGrant;
  readonly #mode: Mode;
  #releasing: Promise<void> | undefined;

  /** @throws what ended the place, if it is lost */
  constructor(place: LockGrant, mode: Mode) {
    const { contender, session } = place;
    place.begin(mode);
    super(contender.node, session.clock);
    this.token = contender.czxid;
    this.path = contender.node.path;
    this.#place = place;
    this.#mode = mode;
  }

  /** @internal What it is held by. */
  get place(): LockGrant {
    return this.#place;
  }

  /** @internal The node that stands for it. */
  get node(): EphemeralNode {
    return this.#place.contender.node;
  }

  /** @internal */
  get mode(): Mode {
    return this.#mode;
  }

  release(): Promise<void> {
    return this.#end(
      () => new LockLostError('released'),
      () => this.#place.end(this.#mode),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** A lock that is lost is given up as well: its node may still be there, and those behind it wait for that. */
  protected override onLoss(reason: LossReason, cause?: Error): void {
    const error = new LockLostError(reason, { cause });
    void this.#end(
      () => error,
      () => this.#place.lose(error),
    );
  }

  /** The first end counts, also where the one who hears of it releases at once. */
  #end(reason: () => LockLostError, give: () => Promise<void>): Promise<void> {
    if (this.#releasing === undefined) {
      const given = deferred();
      this.#releasing = given.promise;
      this.endTenure(reason);
      const { clock, leaseMs } = this.#place.session;
      whenSettled(clock, give(), leaseMs, given.resolve);
    }
    return this.#releasing;
  }
}

mark(GrantHold, 'LockHold');
showAs(GrantHold, ({ path, token, seemsHeld: held }) => ({ path, token, held }));

import type { Clock } from '../clock.js';
import { type HoldEndReason, LockLostError } from '../errors.js';
import { settledWithin } from '../promises.js';
import type { Contender } from './contender.js';
import type { GuardedTransaction } from './guarded-transaction.js';
import { type LossReason, Tenure } from './tenure.js';

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

/** The hold that a {@link Contender} has when nobody is ahead of it. */
export class ContenderHold extends Tenure implements LockHold {
  readonly token: bigint;
  readonly path: string;
  readonly #contender: Contender;
  readonly #clock: Clock;
  readonly #leaseMs: number;
  #releasing: Promise<void> | undefined;

  constructor(contender: Contender, clock: Clock, leaseMs: number) {
    super(contender.own, clock);
    this.token = contender.token;
    this.path = contender.own.path;
    this.#contender = contender;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    contender.own.keepAlive();
  }

  release(): Promise<void> {
    this.#releasing ??= this.#release('released');
    return this.#releasing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** A lock that is lost is given up as well: its node may still be there, and those behind it wait for that. */
  protected override onLoss(reason: LossReason, cause?: Error): void {
    this.#releasing ??= this.#release(reason, cause);
  }

  async #release(reason: HoldEndReason, cause?: Error): Promise<void> {
    this.endTenure(new LockLostError(reason, { cause }));
    await settledWithin(this.#clock, this.#contender.leave(), this.#leaseMs);
  }
}

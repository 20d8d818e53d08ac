import { showAs } from '../../classes/inspection.js';
import type { Claim } from '../../election/term/claim.js';
import { ShardEndedError, type ShardEndReason } from '../../errors.js';
import type { EphemeralNode } from '../../lease/ephemeral-node.js';
import { type GuardedTransaction, HolderTransaction } from '../../lease/guarded-transaction.js';
import { HeldWork } from '../../lease/held-work.js';
import { Hold, type LossReason } from '../../lease/hold.js';
import type { Clock } from '../../platform/time/clock.js';

/**
 * A shard that this process owns: a value with a lifetime. Ask {@link Shard.isHeld} right before each action.
 *
 * Guaranteed: processes that act for a shard only while `isHeld()` never act at the same time as another owner of that shard, if their
 * clocks' rates differ by 1 % at most. What is not guaranteed is as in a {@link Term}.
 */
export interface Shard {
  /** Its name in the group; of shards that were given by their number `0`, `1` and so on. */
  readonly id: string;
  /**
   * Its place among the group's shards, from 0, as it was when the shard was acquired: a group with names may get others while a shard
   * stays, and then the place isn't right any more.
   */
  readonly index: number;
  /** How often the shard has had an owner: 1 for the first one. */
  readonly number: number;
  /** The fencing token: higher than that of every earlier owner of this shard. Tokens of different shards say nothing about each other. */
  readonly token: bigint;
  /** Aborts when the shard is to be given back, or is lost, with a `ShardEndedError` that has the reason. */
  readonly signal: AbortSignal;
  /** Whether this process owns it at this very moment. It asks the clock, so the answer is right after any pause. */
  isHeld(): boolean;
  /** @throws ShardEndedError unless it is owned at this very moment */
  assertHeld(): void;
  /** How long it is owned if no server answers again, in milliseconds; 0 when it has ended. */
  remainingMs(): number;
  /**
   * Counts `work` as the owner's: the shard isn't given back before that has settled. A rejection is reported.
   * @throws ShardEndedError if the shard has been given back already
   */
  waitUntil(work: Promise<unknown> | (() => unknown)): void;
  /**
   * Writes in ZooKeeper that are carried out only while this process owns the shard: fencing that depends on no clock. The shard is its
   * own until its work has settled, so work may write for the last time after `signal` has aborted.
   */
  transaction(): GuardedTransaction;
}

/** What its owner hears of a shard. */
export interface ShardListener {
  /** The shard is being lost; must call {@link OwnedShard.end}. */
  onLoss(shard: OwnedShard, reason: ShardEndReason, cause?: Error): void;
  /** Work has rejected while the shard was owned, or for a reason of its own. */
  onWorkFailed(shard: OwnedShard, cause: unknown): void;
}

/** A shard, for the member that owns it. */
export class OwnedShard extends Hold implements Shard {
  readonly id: string;
  readonly index: number;
  readonly number: number;
  readonly token: bigint;
  readonly claim: Claim;
  readonly #node: EphemeralNode;
  readonly #absoluteRecord: string;
  readonly #work: HeldWork<'run' | 'waitUntil'>;
  readonly #listener: ShardListener;
  #endedFor: ShardEndReason | undefined;

  /**
   * @param node - the member's node
   * @param absoluteRecord - the path of the record, with the chroot
   */
  constructor(
    shard: { readonly id: string; readonly index: number },
    claim: Claim,
    { node, absoluteRecord }: { readonly node: EphemeralNode; readonly absoluteRecord: string },
    clock: Clock,
    listener: ShardListener,
  ) {
    super(node, clock);
    this.id = shard.id;
    this.index = shard.index;
    this.number = claim.term;
    this.token = claim.token;
    this.claim = claim;
    this.#node = node;
    this.#absoluteRecord = absoluteRecord;
    this.#listener = listener;
    this.#work = new HeldWork(this, node, clock, (cause) => listener.onWorkFailed(this, cause));
  }

  waitUntil(work: Promise<unknown> | (() => unknown)): void {
    this.#count(work, 'waitUntil');
  }

  /** Calls `work`, whose end doesn't end the shard. */
  work(work: () => unknown): void {
    this.#count(work, 'run');
  }

  #count(work: Promise<unknown> | (() => unknown), kind: 'run' | 'waitUntil'): void {
    if (this.#work.hasEnded) throw this.signal.reason;
    this.#work.add(work, kind);
  }

  /** Whether the caller is the owner's work for this shard. */
  get isAround(): boolean {
    return this.#work.isAround;
  }

  /** How much work has still to settle. */
  get workCount(): number {
    return this.#work.count;
  }

  /** Why it isn't owned any more. */
  get endedFor(): ShardEndReason | undefined {
    return this.#endedFor;
  }

  end(reason: ShardEndReason, cause?: Error): void {
    if (this.#endedFor !== undefined) return;
    this.#endedFor = reason;
    this.endHold(() => new ShardEndedError(this.id, reason, { cause }));
  }

  /** Resolves when all work has settled; from then on `waitUntil` throws. @param onOverrun - called once if the lease is over before */
  settled(onOverrun: () => void): Promise<void> {
    return this.#work.settled(Number.POSITIVE_INFINITY, onOverrun);
  }

  override transaction(): GuardedTransaction {
    const { record: path, version } = this.claim;
    const ended = () => {
      // It ends for want of its lease, or another client has written the record.
      if (this.isHeld()) this.#listener.onLoss(this, 'superseded');
      return this.signal.reason as Error;
    };
    return new HolderTransaction([this.#node], ended, { path, version, absolutePath: this.#absoluteRecord });
  }

  protected override onLoss(reason: LossReason, cause?: Error): void {
    this.#listener.onLoss(this, reason === 'session-closed' ? 'stopped' : reason, cause);
  }
}

showAs(OwnedShard, ({ id, number, token, seemsHeld: held }) => ({ id, number, token, held }));

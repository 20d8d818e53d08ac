import type { Claim } from '../../election/term/term.js';
import { ShardEndedError, type ShardEndReason } from '../../errors.js';
import { mayBeReplaced } from '../../lease/failure-detector.js';
import { type GuardedTransaction, HolderTransaction } from '../../lease/guarded-transaction.js';
import type { HeldTerm } from '../../lease/held-term.js';
import type { OwnNode } from '../../lease/own-node.js';
import { handleOf, type TermHandle } from '../../lease/term-handle.js';
import { type LossReason, Validity } from '../../lease/validity.js';
import { WorkWhileHeld } from '../../lease/work-while-held.js';
import type { Clock } from '../../platform/time/clock.js';
import { showAs } from '../../public-class/shown-in-console.js';

/**
 * A shard that this process owns: a term of that shard. Ask `isHeld()` right before each action. {@link HeldTerm} says what is guaranteed,
 * and what isn't. A shard isn't given back to the group before its work has settled.
 */
export interface Shard extends HeldTerm {
  /** Its name in the group. If you gave the number of the shards, the names are `0`, `1` and so on. */
  readonly id: string;
  /**
   * Its place among the group's shards, from 0, as it was when the shard was acquired: if a group with names
   * gets other names while this shard stays, the place may no longer be right.
   */
  readonly index: number;
}

/** What its owner hears of a shard. */
export interface ShardListener {
  /** The shard is being lost; must call {@link OwnedShard.end}. */
  onLoss(shard: OwnedShard, reason: ShardEndReason, cause?: Error): void;
  /** Work has rejected while the shard was owned, or for another reason. */
  onWorkFailed(shard: OwnedShard, cause: unknown): void;
}

/** A shard, for the member that owns it. */
export class OwnedShard extends Validity implements Shard {
  readonly id: string;
  readonly index: number;
  readonly number: number;
  readonly token: bigint;
  readonly claim: Claim;
  readonly #node: OwnNode;
  readonly #absoluteRecord: string;
  readonly #work: WorkWhileHeld<'run' | 'waitUntil'>;
  readonly #listener: ShardListener;
  #endedFor: ShardEndReason | undefined;
  #handle: TermHandle | undefined;

  /**
   * @param node - the member's node
   * @param absoluteRecord - the path of the record, with the chroot
   */
  constructor(
    shard: { readonly id: string; readonly index: number },
    claim: Claim,
    { node, absoluteRecord }: { readonly node: OwnNode; readonly absoluteRecord: string },
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
    this.#work = new WorkWhileHeld(this, absoluteRecord, node, clock, (cause) =>
      listener.onWorkFailed(this, cause),
    );
  }

  waitUntil(work: Promise<unknown> | (() => unknown)): void {
    this.#work.add(work, 'waitUntil');
  }

  /** Calls `work`, whose end doesn't end the shard. */
  work(work: () => unknown): void {
    this.#work.add(work, 'run');
  }

  /** Whether the caller is the owner's work for this shard. */
  get isAround(): boolean {
    return this.#work.isAround;
  }

  /** How much work still has to settle. */
  get workCount(): number {
    return this.#work.count;
  }

  /** Why it is no longer owned. */
  get endedFor(): ShardEndReason | undefined {
    return this.#endedFor;
  }

  handle(): TermHandle {
    const { number, token, id: shard } = this;
    this.#handle ??= handleOf(this.shareLease(this.#endedFor), { number, token, shard });
    return this.#handle;
  }

  end(asked: ShardEndReason, cause?: Error): void {
    if (this.#endedFor !== undefined) return;
    const reason = this.endForOtherThreads(asked);
    this.#endedFor = reason;
    this.endHold(() => new ShardEndedError(this.id, reason, { cause }));
  }

  /** Resolves when all work has settled; from then on `waitUntil` throws. @param onOverrun - called once if the lease is over before */
  settled(onOverrun: () => void): Promise<void> {
    return this.#work.settled(Number.POSITIVE_INFINITY, onOverrun, () => mayBeReplaced(this.#node));
  }

  /** It is given back, or lost for good. */
  forget(): void {
    this.letGo();
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

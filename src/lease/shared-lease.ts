import type { DemotionReason, ShardEndReason } from '../base-errors.js';
import {
  type MachineInstant,
  machineInstantIn,
  systemSources,
  type TimeSources,
} from '../platform/time/machine-instant.js';
import { SharedInstant } from '../platform/time/shared-instant.js';

/** Why a term of an election, or of a shard, ended. */
export type EndReason = DemotionReason | ShardEndReason;

/** In memory a reason is this number. 0: the term lasts. By its type, the table can't lack a reason. */
const NUMBER_OF: Readonly<Record<EndReason, number>> = {
  'lease-expired': 1,
  'session-expired': 2,
  'node-deleted': 3,
  superseded: 4,
  'record-overwritten': 5,
  resigned: 6,
  stopped: 7,
  finished: 8,
  revoked: 9,
  moved: 10,
  failed: 11,
  refused: 12,
};
const REASONS = new Map(Object.entries(NUMBER_OF).map(([reason, number]) => [number, reason as EndReason]));
const LASTS = 0;

const LENGTH = SharedInstant.BYTES / 8;
/** Earlier than any instant, in nanoseconds: no lease has begun. Zero would be the start of the machine. */
const LONG_AGO = -(2n ** 62n);

/**
 * The lease of a node, in memory that threads share: when its newest proof was sent, by each of the machine's clocks, and how long a lease
 * lasts. Its end isn't in the memory. So when a server grants a shorter lease, the one that is under way ends earlier too, whichever thread
 * extends it.
 */
export class SharedLease {
  static readonly BYTES = SharedInstant.BYTES + 8;
  readonly memory: SharedArrayBuffer;
  readonly #sources: TimeSources;
  readonly #sentAt: SharedInstant;
  readonly #numbers: BigInt64Array;

  /** @param memory - of a lease. Without it: a new one, which hasn't begun. @param sources - the machine's clocks */
  constructor(memory?: SharedArrayBuffer, sources: TimeSources = systemSources) {
    this.memory = memory ?? new SharedArrayBuffer(SharedLease.BYTES);
    this.#sources = sources;
    this.#sentAt = new SharedInstant(this.memory, sources);
    this.#numbers = new BigInt64Array(this.memory);
    if (memory === undefined) this.#numbers.fill(LONG_AGO, 0, LENGTH);
  }

  /** A lease lasts that long from now on, also the one that is under way. Only the thread of the session says so. */
  lasts(leaseMs: number): void {
    Atomics.store(this.#numbers, LENGTH, BigInt(Math.floor(leaseMs * 1e6)));
  }

  /** A proof that was sent then is committed. Between the two writes the lease seems to end earlier. */
  proved(sentAt: MachineInstant): void {
    this.#sentAt.raiseTo(sentAt);
  }

  /**
   * As {@link proved}, by how long ago that was by the session's clock. A lease that is over extends nothing, also not to this instant:
   * after a suspension of the machine, an earlier end by the monotonic clock may still be ahead, and an end by the up time counts for a
   * little longer, as its steps demand.
   * @throws InvalidStateError if threads share no clock
   */
  provedAgo(ageMs: () => number): void {
    let ms = 0;
    const sentAt = machineInstantIn(() => {
      ms = ageMs();
      return -ms;
    }, this.#sources);
    if (ms < this.#lengthMs) this.proved(sentAt);
  }

  /** How much of the lease is left, in milliseconds; negative when it is over. */
  leftMs(): number {
    return this.#sentAt.msLeft() + this.#lengthMs; // In this order: a length only falls.
  }

  /** How long ago the newest proof was sent, in milliseconds. */
  ageMs(): number {
    return -this.#sentAt.msLeft();
  }

  get #lengthMs(): number {
    return Number(Atomics.load(this.#numbers, LENGTH)) / 1e6;
  }
}

/** Places of whole numbers. */
const [REASON, LAYOUT] = [0, 1] as const;
const BYTES = 8;
/** Change it with the layout and with the numbers of the reasons, because threads of one process may run different versions of Conclave. */
const THIS_LAYOUT = 0x1ea5e003;

/** The memory of a {@link LeaseCell}. */
export interface CellMemory {
  /** The lease of the node by which the term is held. */
  readonly lease: SharedArrayBuffer;
  /** Why the term has ended. */
  readonly end: SharedArrayBuffer;
}

/**
 * A term in memory that the threads of a process share: the lease of its node, and the reason for which the term ended. The terms of a node
 * have one lease, and each has an end of its own, never reused: once {@link isHeld} has returned `false` in one thread, it returns `false`
 * in all threads for ever. Each thread reads the clocks itself. `test/model/cell` visits all interleavings of these steps.
 *
 * Why `true` is right: the lease is read before the clocks, and the reason last. So when the first clock was read, the lease lasted by
 * both clocks, because the other one was read later; and the term had not ended, because the reason was still missing after that. Why
 * `false` is final: a thread that finds the lease over writes that as the reason, and no extension takes a reason back.
 */
export class LeaseCell {
  readonly memory: CellMemory;
  readonly lease: SharedLease;
  readonly #numbers: Int32Array;

  /** @param end - of a cell. Without it: a new cell, of a term that lasts */
  constructor(lease: SharedLease, end?: SharedArrayBuffer) {
    this.memory = { lease: lease.memory, end: end ?? new SharedArrayBuffer(BYTES) };
    this.lease = lease;
    this.#numbers = new Int32Array(this.memory.end);
    if (end === undefined) Atomics.store(this.#numbers, LAYOUT, THIS_LAYOUT);
  }

  /** Whether memory that another thread sent is a cell's. */
  static isCell({ lease, end }: CellMemory): boolean {
    if (lease.byteLength !== SharedLease.BYTES || end.byteLength !== BYTES) return false;
    return new Int32Array(end)[LAYOUT] === THIS_LAYOUT;
  }

  /** The term has ended. The first reason counts. */
  end(reason: EndReason): void {
    Atomics.compareExchange(this.#numbers, REASON, LASTS, NUMBER_OF[reason]);
  }

  get reason(): EndReason | undefined {
    return REASONS.get(Atomics.load(this.#numbers, REASON));
  }

  /** Whether the term is held at this very moment. If the lease is over, the term is over for all threads, with `lease-expired`. */
  isHeld(): boolean {
    return this.remainingMs() > 0;
  }

  /** How much of the lease is left at this very moment, in milliseconds; 0 when the term is over. Decides as {@link isHeld} does. */
  remainingMs(): number {
    const leftMs = this.lease.leftMs();
    if (leftMs > 0) return Atomics.load(this.#numbers, REASON) === LASTS ? leftMs : 0;
    Atomics.compareExchange(this.#numbers, REASON, LASTS, NUMBER_OF['lease-expired']);
    return 0;
  }
}

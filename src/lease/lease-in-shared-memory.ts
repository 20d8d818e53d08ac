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
};
const REASONS = new Map(Object.entries(NUMBER_OF).map(([reason, number]) => [number, reason as EndReason]));
const LASTS = 0;

// Places of whole numbers, in 32 bits, behind the end of the lease.
const REASON = SharedInstant.BYTES / 4;
const LAYOUT = REASON + 1;
const BYTES = 4 * (LAYOUT + 1);
/** Change it with the layout and with the numbers of the reasons, because threads of one process may run different versions of Conclave. */
const THIS_LAYOUT = 0x1ea5e002;

/**
 * Memory in which the thread that holds a term says until when, for the other threads of the process. One for each term, never reused:
 * once {@link isHeld} has returned `false` in one thread, it returns `false` in all threads for ever.
 *
 * The memory has the end of the lease by each of the machine's clocks, and the reason for which the term ended. Each thread reads the
 * clocks itself. `test/model/cell` visits all interleavings of these steps.
 *
 * Why `true` is right: the ends are read before the clocks, and the reason last. So when the first clock was read, the lease lasted by
 * both clocks, because the other one was read later; and the term had not ended, because the reason was still missing after that. Why
 * `false` is final: a thread that finds the lease over writes that as the reason, and no extension takes a reason back.
 */
export class LeaseCell {
  readonly memory: SharedArrayBuffer;
  readonly #sources: TimeSources;
  readonly #end: SharedInstant;
  readonly #numbers: Int32Array;

  /** @param memory - of a cell. Without it: a new cell, whose lease hasn't begun. @param sources - the machine's clocks */
  constructor(memory?: SharedArrayBuffer, sources: TimeSources = systemSources) {
    this.memory = memory ?? new SharedArrayBuffer(BYTES);
    this.#sources = sources;
    this.#end = new SharedInstant(this.memory, sources);
    this.#numbers = new Int32Array(this.memory);
    if (memory === undefined) Atomics.store(this.#numbers, LAYOUT, THIS_LAYOUT);
  }

  /** Whether memory that another thread sent is a cell. */
  static isCell(memory: SharedArrayBuffer): boolean {
    return memory.byteLength === BYTES && new Int32Array(memory)[LAYOUT] === THIS_LAYOUT;
  }

  /**
   * The lease lasts until that instant, or longer: an end only rises. It needn't fall when the servers grant a shorter session timeout: others
   * wait for the lease that the term's record names, and that is the longer one. Between the two writes the lease seems to end earlier.
   */
  extend(until: MachineInstant): void {
    this.#end.raiseTo(until);
  }

  /**
   * As {@link extend}, by the time that is left of the lease by the session's clock. A lease that is over extends nothing, also not to this
   * instant: after a suspension of the machine, an earlier end by the monotonic clock may still be ahead, and an end by the up time counts
   * for a little longer, as its steps demand.
   * @param remainingMs - 0 if the lease is over
   * @throws InvalidStateError if threads share no clock
   */
  extendBy(remainingMs: () => number): void {
    let leftMs = 0;
    const until = machineInstantIn(() => {
      leftMs = remainingMs();
      return leftMs;
    }, this.#sources);
    if (leftMs > 0) this.extend(until);
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
    const leftMs = this.leftMs();
    if (leftMs > 0) return Atomics.load(this.#numbers, REASON) === LASTS ? leftMs : 0;
    Atomics.compareExchange(this.#numbers, REASON, LASTS, NUMBER_OF['lease-expired']);
    return 0;
  }

  /** How much of the lease is left, in milliseconds, also if the term is over; negative when the lease is. It ends no term. */
  leftMs(): number {
    return this.#end.msLeft();
  }
}

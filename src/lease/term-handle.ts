import { types } from 'node:util';
import type { DemotionReason, ShardEndReason } from '../base-errors.js';
import { InvalidOptionError, ShardEndedError, TermEndedError } from '../base-errors.js';
import { showAs } from '../public-class/shown-in-console.js';
import { LeaseCell, SharedLease } from './shared-lease.js';

/**
 * A handle of a term, for other threads of this process: a frozen plain object, which `postMessage`, `workerData` and `structuredClone`
 * take. Get one by `handle()` of the term, and give it to {@link heldTerm} in the other thread.
 */
export interface TermHandle {
  /** The term's number. */
  readonly number: number;
  /** The term's fencing token. */
  readonly token: bigint;
  /** Of a shard: its id. */
  readonly shard?: string;
  /** The process that holds the term. */
  readonly pid: number;
  /** Shared memory with the lease, for {@link heldTerm} alone. Its content may change in any version. */
  readonly lease: SharedArrayBuffer;
  /** As `lease`, with the reason for which the term has ended. */
  readonly end: SharedArrayBuffer;
}

/** What {@link heldTerm} returns: a term that another thread of this process holds, or this one. */
export interface TermOfHandle {
  /** The term's number. */
  readonly number: number;
  /** The fencing token. Let the resource that you write to refuse lower ones. */
  readonly token: bigint;
  /** Of a shard: its id. */
  readonly shard?: string;
  /**
   * Whether this process holds the term at this moment. Ask right before each action. It reads the machine's clocks and the shared
   * memory at each call, and needs no other thread: the answer is right while the thread that holds the term is blocked.
   *
   * Guaranteed, as for `isHeld()` of the term itself: if it returns `true`, the lease lasted and the term had not ended at some
   * instant within the call. Once it has returned `false` in one thread, it returns `false` in all threads of the process for ever.
   * If the lease was over, the term ends with `lease-expired`.
   *
   * Not guaranteed: that the lease is extended. Only the thread that holds the term sends heartbeats, unless the session has
   * `maxStallMs`. If it is blocked for longer than the lease, the term is over.
   */
  isHeld(): boolean;
  /** @throws TermEndedError, or ShardEndedError of a shard, with the reason, unless the term is held at this very moment */
  assertHeld(): void;
  /** How long the term still lasts if no server answers again, in milliseconds. 0 when it has ended. */
  remainingMs(): number;
}

type AboutTerm = Pick<TermHandle, 'number' | 'token' | 'shard'>;

/** The handle of the term whose lease is in `cell`. */
export function handleOf(cell: LeaseCell, about: AboutTerm): TermHandle {
  return Object.freeze({ ...about, pid: process.pid, ...cell.memory });
}

/**
 * The term that a handle stands for. Call it once in the thread that computes, and then ask `isHeld()` before each action.
 *
 * @example
 * ```ts
 * import { parentPort, workerData } from 'node:worker_threads';
 * import { heldTerm } from 'conclave/held-term';
 *
 * const term = heldTerm(workerData);
 * while (term.isHeld()) computeNextPiece(term.token);
 * ```
 *
 * `conclave/held-term` has this function alone, with the errors that it throws. So a worker loads nothing of the session.
 *
 * @param handle - from `handle()` of the term, in any thread of this process
 * @throws InvalidOptionError unless it is a handle of this process. A copy made by JSON isn't one, because JSON has no shared memory
 */
export function heldTerm(handle: TermHandle): TermOfHandle {
  if (isHandle(handle)) return new SharedTerm(handle);
  throw new InvalidOptionError('handle', handle, 'a handle of this process, as term.handle() returns it');
}

/**
 * Shared memory can't leave its process: `process.send` and JSON don't carry it. The rest tells a handle from other objects, and from
 * handles of another version.
 */
function isHandle(value: unknown): value is TermHandle {
  if (typeof value !== 'object' || value === null) return false;
  const { number, token, shard, pid, lease, end } = value as Partial<TermHandle>;
  if (typeof number !== 'number' || typeof token !== 'bigint') return false;
  if (shard !== undefined && typeof shard !== 'string') return false;
  // Not by `instanceof`: Jest runs tests in a realm of their own.
  if (!types.isSharedArrayBuffer(lease) || !types.isSharedArrayBuffer(end)) return false;
  return pid === process.pid && LeaseCell.isCell({ lease, end });
}

class SharedTerm implements TermOfHandle {
  readonly number: number;
  readonly token: bigint;
  readonly shard?: string;
  readonly #cell: LeaseCell;

  constructor({ number, token, shard, lease, end }: TermHandle) {
    this.number = number;
    this.token = token;
    if (shard !== undefined) this.shard = shard;
    this.#cell = new LeaseCell(new SharedLease(lease), end);
  }

  isHeld(): boolean {
    return this.#cell.isHeld();
  }

  assertHeld(): void {
    if (this.isHeld()) return;
    const { reason } = this.#cell;
    if (this.shard === undefined) throw new TermEndedError(this.number, reason as DemotionReason);
    throw new ShardEndedError(this.shard, reason as ShardEndReason);
  }

  remainingMs(): number {
    return this.#cell.remainingMs();
  }
}

showAs(SharedTerm, ({ number, token, shard }) =>
  shard === undefined ? { number, token } : { id: shard, number, token },
);

import type { Stat } from '../session/protocol/multi-and-stats.js';

/**
 * When is the lease of another process surely over? Elections and shards ask the same question, and these pure functions answer it. A
 * mistake would make two leaders, or two owners, at once. See src/election/README.md.
 */

/** What a process has seen of the holder of a lease. Instants are by its own clock. */
export type Sign =
  /** Nothing from which a delay could count. */
  | { readonly name: 'unseen' }
  | Beating
  /** The holder's own node is gone. The answer that showed it came at `since`. */
  | { readonly name: 'gone'; readonly since: number };

/** The holder's heartbeat node was read. */
export interface Beating {
  readonly name: 'beating';
  /** The version in the newest answer, or {@link MISSING}. */
  readonly version: number;
  /** The transaction that wrote it. In a restored backup a version comes again, by another heartbeat. */
  readonly zxid: bigint;
  /** When the first answer with that version of that transaction had come. */
  readonly since: number;
  /** When the newest read with that version was about to be sent. */
  readonly readAt: number;
  /** The number of the session's connection over which the node was asked for last. */
  readonly connection: number | undefined;
}

export const UNSEEN: Sign = { name: 'unseen' };

/**
 * Stands for the version of a heartbeat node that is missing while its holder's own node is there. A heartbeat node is never created
 * again, so no proof can follow.
 */
export const MISSING = -1;

/** A read of a heartbeat node: sent at `readAt` over that connection, and answered at `now`. */
export interface HeartbeatRead extends Pick<Beating, 'readAt' | 'connection'> {
  readonly now: number;
}

/**
 * The sign after a read of the heartbeat node. After 2^31 heartbeats the version is negative and stands for any version, so
 * nothing is seen then.
 * @param stat - `undefined` if the node is missing
 */
export function afterRead(
  before: Sign,
  stat: Pick<Stat, 'version' | 'mzxid'> | undefined,
  { readAt, now, connection }: HeartbeatRead,
): Sign {
  const version = stat?.version ?? MISSING;
  if (stat !== undefined && version < 0) return UNSEEN;
  const zxid = stat?.mzxid ?? 0n;
  const isSame = before.name === 'beating' && before.version === version && before.zxid === zxid;
  return { name: 'beating', version, zxid, since: isSame ? before.since : now, readAt, connection };
}

/**
 * How long others wait for the end of a lease that they don't see ending, in milliseconds, counted from the answer that shows the
 * newest heartbeat, or the end of the holder's node. It is the lease, 3 % more for clocks whose rates differ by 1 % at most, and a
 * margin of 50 ms.
 *
 * Why that is enough: each heartbeat that the answer can show was committed before it, and was sent before that. So each lease began
 * before the answer came, and ends before the delay does (Chubby's lock-delay).
 */
export function takeoverDelayMs(leaseMs: number): number {
  return leaseMs * 1.03 + 50;
}

/** How long a holder may be silent before it is replaced. */
export interface SilenceLimits {
  /** How long the holder's lease lasts at most, in milliseconds. */
  readonly leaseMs: number;
  /** The process that waits gives the holder at least this much time, in milliseconds. @default 0 */
  readonly leastMs?: number;
  /** How many others come before the process that waits. It gives them one delay each. @default 0 */
  readonly rank?: number;
}

/** How long the lease may still last, in milliseconds: 0 or less if it is surely over, `Infinity` if nothing is known. */
export function leftMs(sign: Sign, limits: SilenceLimits, now: number): number {
  if (sign.name === 'unseen') return Number.POSITIVE_INFINITY;
  const { leaseMs, leastMs = 0, rank = 0 } = limits;
  return sign.since + (rank + 1) * Math.max(takeoverDelayMs(leaseMs), leastMs) - now;
}

/** Whether the node's lease has been over for so long that another holder may act. */
export function mayBeReplaced(node: {
  readonly leaseMs: number;
  remainingAtMostMs(): number;
  proofAgeMs(): number;
}): boolean {
  if (node.remainingAtMostMs() > 0) return false; // Costs less, and is mostly so.
  return node.proofAgeMs() >= takeoverDelayMs(node.leaseMs);
}

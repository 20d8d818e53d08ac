import {
  type HeartbeatRead,
  type LeaseObservation,
  observed,
} from '../../election/takeover/lease-observation.js';
import { takeoverDelayMs } from '../../election/term/takeover-delay.js';
import type { Stat } from '../../session/protocol/records.js';

/**
 * What was seen of a member's end. Instants are by the observer's clock.
 *
 * - `beating`: its node is there, and its heartbeat node has the version of the observation, or hasn't been read yet.
 * - `missing`: a listing doesn't show its node, which was there, since it was seen or a record named it. That proves nothing.
 * - `gone`: the servers have proved that its node is gone, and that answer came then.
 */
export type Sign =
  | { readonly name: 'beating'; readonly observation?: LeaseObservation | undefined }
  | { readonly name: 'missing' }
  | { readonly name: 'gone'; readonly since: number };

export type TombstoneStep =
  /** Its lease may last: look again in so many milliseconds. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Nothing is known that a delay could count from. */
  | { readonly kind: 'look' }
  /** The servers have to prove that its node is gone: the delay counts from their answer. */
  | { readonly kind: 'prove' }
  /** Its lease is over, unless its heartbeat node has another version by now: that is for the servers to say. */
  | { readonly kind: 'silent'; readonly version: number }
  /** Its lease is over, unless its node is there after all: that, too, is for the servers to say. */
  | { readonly kind: 'gone' };

/**
 * Whether a member's lease is surely over. A pure decision: a mistake would make two owners of all its shards. The newest heartbeat that a
 * lease can follow from was sent before the version was seen, or before the servers proved that the node is gone. So the lease began before
 * `since`, and ends before the delay does.
 * @param leaseMs - how long its lease lasts at most
 */
export function tombstoneStep(sign: Sign, leaseMs: number, now: number): TombstoneStep {
  if (sign.name === 'missing') return { kind: 'prove' };
  const since = sign.name === 'gone' ? sign.since : sign.observation?.since;
  if (since === undefined) return { kind: 'look' };
  const leftMs = since + takeoverDelayMs(leaseMs) - now;
  if (leftMs > 0) return { kind: 'wait', ms: leftMs };
  if (sign.name === 'gone') return { kind: 'gone' };
  return { kind: 'silent', version: (sign.observation as LeaseObservation).version };
}

/**
 * The sign of a member that is there, after a look at its heartbeat node.
 * @param stat - of that node; `undefined`: it has none yet, or a server that is behind doesn't show it
 */
export function afterLook(
  before: LeaseObservation | undefined,
  stat: Stat | undefined,
  read: HeartbeatRead,
): Sign {
  const isThere = stat !== undefined && stat.version >= 0;
  const { connection } = read;
  const observation = isThere ? observed(before, stat, read) : before && { ...before, connection };
  return { name: 'beating', observation };
}

/** Whether the heartbeat node was asked for last over that connection. @param connection - `undefined` for none */
export function wasReadOver(sign: Sign, connection: number | undefined): boolean {
  return sign.name === 'beating' && connection !== undefined && sign.observation?.connection === connection;
}

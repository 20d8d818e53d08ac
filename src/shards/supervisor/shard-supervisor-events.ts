import type { CleanupAttempt, CleanupHook } from '../../cluster/supervisor/cleanup-hook.js';
import type { Restart } from '../../cluster/supervisor/election-supervisor-events.js';
import type { ShardEndReason } from '../../errors.js';
import type { EventNames } from '../../platform/safe-emitter.js';
import type { Shard } from '../ownership/owned-shard.js';

/** The events of a `ShardSupervisor`. They only inform you. For safety use `shard.signal`, `shard.isHeld()` and the hooks. */
export interface ShardSupervisorEvents {
  /** The process owns the shard from now on. */
  acquired(shard: Shard): void;
  /**
   * The shard's work has settled, and it was given back: `moved`, `stopped`, or `failed` when `run` has failed too often. If no server
   * answers at a stop, others get the shard when the lease is over.
   */
  released(shard: Shard, reason: ShardEndReason): void;
  /**
   * The shard was taken away: `lease-expired`, `session-expired`, `node-deleted` (also when other members have replaced this one,
   * since its lease was over), `superseded` (its record was written by another client), `refused` (the servers refuse the
   * member's heartbeats). Its work may still have to settle.
   */
  lost(shard: Shard, reason: ShardEndReason): void;
  /** This process is the group's planner, and has written a plan: by shard, the id of the member that is to own it. */
  planned(plan: ReadonlyMap<string, string>): void;
  /** The session has expired. The clean-up hook runs when the work has settled, also if the supervisor is stopped meanwhile. */
  expired(): void;
  /** The clean-up hook has succeeded. */
  cleaned(): void;
  /** The supervisor is about to open a session and to join the group again. */
  restarting(restart: Restart): void;
  /** The supervisor has left the group for good. */
  stopped(): void;
  /** Something went wrong. The supervisor goes on, unless the error is a `CleanupFailedError`. */
  error(error: Error): void;
}

/** @internal */
export const SHARD_SUPERVISOR_EVENTS: EventNames<ShardSupervisorEvents> = {
  acquired: true,
  released: true,
  lost: true,
  planned: true,
  expired: true,
  cleaned: true,
  restarting: true,
  stopped: true,
  error: true,
};

/** What a member of a group of shards has lost. */
export interface LostShards {
  /** The shards that were lost, and that this process hasn't owned again. The signal of each has the reason. Their work has settled. */
  readonly shards: readonly Shard[];
  /**
   * `session-expired`; `node-deleted` when the member's node was deleted, mostly by other members since its lease was over; `refused` when
   * the servers refused its heartbeats; `stopped` when the session was closed; or `lease-expired` when the supervisor was stopped after the lease had ended,
   * with no server in reach to tell the reason.
   */
  readonly reason: 'session-expired' | 'node-deleted' | 'refused' | 'stopped' | 'lease-expired';
}

/** What was lost, for the clean-up hook of a `ShardSupervisor`. */
export interface ShardLoss extends LostShards, CleanupAttempt {}

/** Decides as a `CleanupHook` does. @see {@link ShardSupervisorOptions.cleanup} */
export type ShardCleanupHook = (loss: ShardLoss) => ReturnType<CleanupHook>;

const GIVEN_BACK: readonly ShardEndReason[] = ['moved', 'stopped', 'failed'];

/** Whether a shard that ended for this reason was lost: its owner didn't give it back. */
export function isLostShard(reason: ShardEndReason): boolean {
  return !GIVEN_BACK.includes(reason);
}

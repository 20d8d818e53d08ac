import type { CleanupAttempt, CleanupDecision } from '../../cluster/supervisor/cleanup-hook.js';
import type { ShardEndReason } from '../../errors.js';
import type { Shard } from '../ownership/shard.js';

/** What a member of a group of shards has lost. */
export interface LostShards {
  /** The shards that were lost, and that this process hasn't owned again. The signal of each has the reason. Their work has settled. */
  readonly shards: readonly Shard[];
  /**
   * `session-expired`; `node-deleted` when the member's node was deleted, mostly by other members since its lease was over; `stopped` when
   * the session was closed; or `lease-expired` when the supervisor was stopped after the lease had ended,
   * with no server in reach to tell the reason.
   */
  readonly reason: 'session-expired' | 'node-deleted' | 'stopped' | 'lease-expired';
}

/** What was lost, for the clean-up hook of a `ShardSupervisor`. */
export interface ShardLoss extends LostShards, CleanupAttempt {}

/** @see {@link ShardSupervisorOptions.cleanup} */
// biome-ignore lint/suspicious/noConfusingVoidType: a hook that returns nothing is the usual one
export type ShardCleanupHook = (loss: ShardLoss) => Promise<CleanupDecision | void> | CleanupDecision | void;

const LOSSES: Readonly<Record<ShardEndReason, boolean>> = {
  'lease-expired': true,
  'session-expired': true,
  'node-deleted': true,
  superseded: true,
  moved: false,
  stopped: false,
  failed: false,
};

/** Whether a shard that ended for this reason was lost: its owner didn't give it back. */
export function isLostShard(reason: ShardEndReason): boolean {
  return LOSSES[reason];
}

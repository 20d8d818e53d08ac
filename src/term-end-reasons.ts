/**
 * Why a term ended: `resigned` and `stopped` by a call of that name (closing the session counts as `stopped`),
 * `finished` because `lead` returned or threw, and the rest because leadership was lost.
 *
 * `superseded`: its lease was over, and another candidate took over, before this process looked at the clock. `record-overwritten`: a client
 * that is no candidate wrote the election's record. `refused`: the servers refuse the leader's heartbeats, because an access list was changed
 * for example; the cause is the refusal.
 *
 * At first a leader may only hear that its node is gone. Then its term ends at once, and the reason of its signal is
 * `node-deleted`. The event `demoted` waits until the leader knows the cause, for a round trip and at most a lease. It then says
 * `session-expired` or `superseded` if that was the cause.
 */
export type DemotionReason =
  | 'resigned'
  | 'stopped'
  | 'finished'
  | 'lease-expired'
  | 'session-expired'
  | 'node-deleted'
  | 'superseded'
  | 'record-overwritten'
  | 'refused'
  | 'revoked';

/**
 * Why a member no longer owns a shard. Clean ends are `moved` (the plan gives the shard to another member), `stopped`, and `failed` (the
 * shard's work has failed too often in this member). The others are losses: the member didn't give the shard back.
 */
export type ShardEndReason =
  | 'moved'
  | 'stopped'
  | 'failed'
  | 'lease-expired'
  | 'session-expired'
  | 'node-deleted'
  | 'superseded'
  | 'refused';

import type { OwnedShard } from '../../../src/shards/ownership/owned-shard.js';
import type { ShardOwnerListener } from '../../../src/shards/ownership/shard-owner.js';

/**
 * Listens to what is told of a member's shards, and writes it down.
 * @param run - the work of each shard that is acquired
 */
export function recordShards(run: (shard: OwnedShard) => unknown) {
  /** In order. */
  const told: string[] = [];
  const errors: unknown[] = [];
  const acquired: OwnedShard[] = [];
  const listener: ShardOwnerListener = {
    onAcquired: (shard) => {
      told.push(`acquired ${shard.id}${shard.isHeld() ? '' : ' without a lease'}`);
      acquired.push(shard);
      shard.work(() => run(shard));
    },
    onEnded: (shard) => told.push(`${shard.endedFor} ${shard.id}`),
    onWorkFailed: (_, cause) => errors.push(cause),
    onOverrun: ({ id: shard }) => told.push(`overrun ${shard}`),
    onError: (error) => errors.push(error),
  };
  return { told, errors, acquired, listener };
}

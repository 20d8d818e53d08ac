import { describe } from '../errors.js';
import { ignore } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import type { ShardOwnerListener } from './ownership/shard-owner.js';
import type { MemberData } from './stored/formats.js';
import type { ShardList } from './stored/shard-list.js';

/** How a member takes part in a group of shards. */
export interface GroupMemberOptions extends MemberData {
  /**
   * Which shards the group has. A group that had these before, and has others by now, is followed all the same.
   * @default those that the group has: it has to be there
   */
  readonly shards?: ShardList | undefined;
  readonly takeover: 'lease' | 'session';
  /** How long the planner waits after members have come for more of them, in milliseconds. */
  readonly settleMs: number;
  /**
   * Whether it comes back with this id, so that the shards that it owned when it left in good order are to be its again.
   * @default false
   */
  readonly keepsHome?: boolean | undefined;
  /**
   * How long its shards wait for it, without an owner, when it has left in good order, in milliseconds; `keepsHome` has to be set. 0:
   * others own them meanwhile. A planner counts from when it has seen that, and another one begins anew.
   * @default 0
   */
  readonly graceMs?: number | undefined;
  /**
   * How long the planner lets an owner keep a shard for a member that prepares for it and doesn't report that it is ready, in milliseconds.
   * The planner's counts.
   * @default 30,000
   */
  readonly prepareTimeoutMs?: number | undefined;
  /**
   * Whether to register with a guardian in the parent process, if there is one: then others get its shards at once when this process has
   * ended.
   */
  readonly guardian?: boolean;
}

export interface GroupMemberListener extends ShardOwnerListener {
  /** This member is the planner, and has written a plan. */
  onPlanned(planned: ReadonlyMap<string, string>): void;
}

/** A listener that throws must keep no shard from being given back. */
export function guarded(listener: GroupMemberListener, logger: Logger): GroupMemberListener {
  const call =
    <Args extends unknown[]>(method: (...args: Args) => void) =>
    (...args: Args) => {
      try {
        method.apply(listener, args);
      } catch (error) {
        logger.error({ cause: describe(error) }, 'an internal listener of a group of shards failed');
      }
    };
  return {
    onAcquired: call(listener.onAcquired),
    onEnded: call(listener.onEnded),
    onWorkFailed: call(listener.onWorkFailed),
    onOverrun: call(listener.onOverrun),
    onAwaited: call(listener.onAwaited ?? ignore),
    onError: call(listener.onError),
    onPlanned: call(listener.onPlanned),
  };
}

import { type HealthTimes, outsideHealth } from '../../cluster/supervisor/health.js';
import type { SupervisorState } from '../../cluster/supervisor/supervision-loop.js';
import type { SupervisedMember } from './supervised-member.js';

/** The condition of a `ShardSupervisor`, for a health check. */
export interface ShardHealth {
  /**
   * Whether it is a member, or on its way to being one again: it looks for a server, for any length of time, cleans up, or cools down. A
   * supervisor isn't live if it has stopped, was never started, or can't join again because work of a lost membership still runs.
   */
  readonly live: boolean;
  /** Whether it is a member, and has a server. */
  readonly ready: boolean;
  /** How many shards it owns at this very moment. */
  readonly owned: number;
  /** Whether it is the group's planner. */
  readonly planner: boolean;
  /**
   * The ids of shards whose work goes on although it was told to end a lease ago, or although the lease is over: other members wait for
   * these shards, or may act beside this work. Only these shards are held up, unless `live` is false.
   */
  readonly stuck: readonly string[];
  /** The ids of shards that it should own and doesn't own yet: other members haven't given them back, or it is about to take them. */
  readonly lacking: readonly string[];
  /** Why, in a few words each; empty when all is well. */
  readonly reasons: readonly string[];
}

/** What a membership says of itself. */
export type MembershipCondition = Pick<
  SupervisedMember,
  'session' | 'isMember' | 'isPlanner' | 'owned' | 'ending' | 'lacking'
>;

const OUTSIDE = { ready: false, owned: 0, planner: false, stuck: [], lacking: [] };

export function shardHealthOf(state: SupervisorState<MembershipCondition>, times: HealthTimes): ShardHealth {
  if (!('participation' in state)) return { ...OUTSIDE, ...outsideHealth(state, times) };
  const { participation } = state;
  const { session, isMember, isPlanner, owned, lacking } = participation;
  // `isHeld()` ends a shard whose lease is over: what is ending is read after that.
  const held = owned.filter((shard) => shard.isHeld()).length;
  const late = participation.ending.filter(({ sinceMs }) => times.now - sinceMs >= session.leaseMs);
  const stuck = late.filter(({ shard }) => shard.workCount > 0);
  const ago = ({ shard, sinceMs }: (typeof late)[number]) =>
    `${Math.round(times.now - sinceMs)} ms after it was to end (${shard.endedFor})`;
  const reasons = stuck.map((each) => `the work of shard ${each.shard.id} still runs, ${ago(each)}`);
  const isConnected = session.state.name === 'connected';
  // With no server in reach that goes without saying.
  const kept = isConnected ? late.filter((each) => !stuck.includes(each)) : [];
  reasons.push(...kept.map((each) => `shard ${each.shard.id} still has to be given back, ${ago(each)}`));
  if (session.state.name === 'suspended')
    reasons.push(`no server for ${Math.round(times.now - session.state.sinceMs)} ms`);
  if (!isMember) reasons.push(state.name === 'settling' ? 'leaves the group' : 'is joining the group');
  return {
    live: isMember || stuck.length === 0,
    ready: isMember && isConnected,
    owned: held,
    planner: isPlanner,
    stuck: stuck.map(({ shard }) => shard.id),
    lacking,
    reasons,
  };
}

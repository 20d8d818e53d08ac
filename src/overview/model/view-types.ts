// These views are what an overview shows of elections, locks, groups of shards and servers. They are plain values that can be sent as JSON.
// All times are in milliseconds since 1970 by the clock of the process that reads: `ServerClock` converts the servers' times.
// Other clients wrote the ids, names and data. They are text, whatever they look like.

/** An election. */
export interface ElectionView {
  /** Its path. */
  readonly path: string;
  /**
   * `led`; `vacant`: there are candidates and no leader; `taking-over`: the record names a leader whose node is gone; `deserted`: there
   * is no candidate; `unreadable`: the record is malformed, or the session may not read it.
   */
  readonly state: 'led' | 'vacant' | 'taking-over' | 'deserted' | 'unreadable';
  /** `null` if no candidate leads. */
  readonly leader: LeaderView | null;
  /** In the order of the queue, the leader too. */
  readonly candidates: readonly CandidateView[];
  /** The candidate that leads next, as far as that can be seen; `null` if there is none. */
  readonly next: NextView | null;
  /** The terms that were seen, the oldest first, 100 at most. Gaps between two terms are times without a leader. */
  readonly terms: readonly TermView[];
}

/** A leader. */
export interface LeaderView {
  /** Its id. */
  readonly id: string;
  /** Its node's name. */
  readonly node: string;
  /** The term's number. */
  readonly term: number;
  /** When the record that names it was written. */
  readonly since: number;
  /** How long its lease lasts after a heartbeat, in milliseconds. */
  readonly leaseMs: number;
  /**
   * When its newest heartbeat that was read was committed; `null` if none was read, or its heartbeats can't be seen. Its lease lasts for at
   * least `leaseMs` from then on. The overview reads heartbeats only while it is attended.
   */
  readonly heartbeatAt: number | null;
}

/** A candidate. */
export interface CandidateView {
  /** Its id. */
  readonly id: string;
  /** Its node's name. */
  readonly node: string;
  /** How many candidates are ahead in the queue. */
  readonly position: number;
  /** 0 to 255: the highest leads next. */
  readonly priority: number;
  /** Whether it leads now. */
  readonly leads: boolean;
  /** The data that it advertises, if that is text, shortened to 200 characters. */
  readonly data?: string;
}

/** The candidate that leads next. */
export interface NextView {
  /** Its id. */
  readonly id: string;
  /** Its node's name. */
  readonly node: string;
  /** Why: it is the next in the queue, it has the highest priority, or the leader has named it. */
  readonly why: 'queue' | 'priority' | 'named';
}

/** A term that was seen. */
export interface TermView {
  /** Its number. */
  readonly term: number;
  /** The leader's id; `null` if it isn't known. */
  readonly id: string | null;
  /** When it began, in milliseconds since 1970. */
  readonly from: number;
  /** When it ended, in milliseconds since 1970; `null` if it hasn't. */
  readonly to: number | null;
  /**
   * How it ended, as far as that can be seen from outside; `null` if it hasn't. `released`: cleanly, and without a successor;
   * `handed-over`: cleanly, to the next leader; `taken-over`: the leader was silent for longer than its lease, and another one claimed;
   * `session-ended`: the leader's node went without a release; `unknown`: the overview saw nothing of the end.
   */
  readonly end: 'released' | 'handed-over' | 'taken-over' | 'session-ended' | 'unknown' | null;
}

/** A lock that has, or had, contenders since the overview began. */
export interface LockView {
  /** Its path. */
  readonly path: string;
  /** The kind of lock. */
  readonly kind: 'lock' | 'read-write' | 'semaphore';
  /** How many may hold at once; for read-write locks 1, and any number of readers. */
  readonly capacity: number;
  /**
   * In the order of the queue, 500 at most; the first `holding` of them hold. `id` comes from the node's uuid, or is the data that another
   * client wrote.
   */
  readonly queue: readonly {
    readonly node: string;
    readonly id: string;
    readonly shared: boolean;
    readonly since: number;
  }[];
  /** How many hold. */
  readonly holding: number;
}

/** A group of shards. */
export interface GroupView {
  /** Its path. */
  readonly path: string;
  /** `incomplete`: some shards have no known owner; `deserted`: there is no member. */
  readonly state: 'owned' | 'incomplete' | 'deserted' | 'unreadable';
  /** The ids of all shards, in their order. */
  readonly shards: readonly string[];
  /** The members, in the order of joining. */
  readonly members: readonly {
    readonly id: string;
    readonly node: string;
    readonly weight: number;
    readonly planner: boolean;
    readonly data?: string;
  }[];
  /** By shard: the index of its owner in `members`, or -1. */
  readonly owners: readonly number[];
  /** The pins: operators' orders which member should own a shard. */
  readonly pins: readonly { readonly shard: string; readonly member: string }[];
  /** The latest moves of shards, the newest first, 100 at most. */
  readonly moves: readonly MoveView[];
}

/** A change of a group in which only some shards have another owner: its shards, members and pins are the same. */
export interface GroupChange {
  /** The group's path. */
  readonly path: string;
  /** As in `GroupView`. */
  readonly state: GroupView['state'];
  /** By shard, for the changed ones: the index of the owner in `members`, or -1. */
  readonly owned: readonly (readonly [shardIndex: number, memberIndex: number])[];
  /** New moves, the newest first. Put them before the known ones. */
  readonly moves: readonly MoveView[];
}

/** A shard that has another owner. */
export interface MoveView {
  /** When it was seen, in milliseconds since 1970. */
  readonly at: number;
  /** The shard's id. */
  readonly shard: string;
  /** The former owner; `null` if there was none. */
  readonly from: string | null;
  /** The owner now; `null` if there is none. */
  readonly to: string | null;
}

/** A server of the ensemble. */
export interface ServerView {
  /** `host:port` as the connect string has it. */
  readonly address: string;
  /** The role that the server names itself; `unreachable` if it gives no answer. */
  readonly role: 'leader' | 'follower' | 'observer' | 'standalone' | 'unreachable' | 'unknown';
  /** Whether the session that reads is connected to this server. */
  readonly isOurs: boolean;
  /** ZooKeeper's release, if the server says which. */
  readonly version?: string;
}

/** Something that has happened. */
export interface TransitionView {
  /** When it was seen, in milliseconds since 1970. */
  readonly at: number;
  /** The path of the election, lock or group. */
  readonly path: string;
  /** What has happened. */
  readonly kind: 'elected' | 'ended' | 'joined' | 'left' | 'moved' | 'created' | 'removed' | 'server';
  /** The id of the leader, contender or member; `null` if it is unknown, or there is none. */
  readonly id: string | null;
  /** The term's number. */
  readonly term?: number;
  /** For `ended` the term's end, as in `TermView`; otherwise a few words. */
  readonly reason?: string;
}

/** Everything below a root, at one moment. */
export interface OverviewState {
  /** Whether a server serves the session. If not, everything here may be out of date since `disconnectedSince`. */
  readonly connected: boolean;
  /** Since when no server serves it, in milliseconds since 1970; `null` while one does. */
  readonly disconnectedSince: number | null;
  /** All elections. */
  readonly elections: readonly ElectionView[];
  /** All locks. */
  readonly locks: readonly LockView[];
  /** All groups of shards. */
  readonly groups: readonly GroupView[];
  /** Empty until the overview is attended. */
  readonly servers: readonly ServerView[];
  /** The newest first, 200 at most. */
  readonly transitions: readonly TransitionView[];
  /** A sentence for each place that isn't shown, because it has too many nodes or may not be read. Missing if everything is shown. */
  readonly limits?: readonly string[];
}

/**
 * The parts of the state that have changed. Of `elections`, `locks` and `groups` it has those that have changed: each view replaces the one
 * with its path. Of `transitions` it has the new ones: put them before the known ones. `servers` and `limits` are complete.
 */
export interface OverviewChange extends Partial<Omit<OverviewState, 'groups'>> {
  /** Those that have changed. */
  readonly groups?: readonly (GroupView | GroupChange)[];
  /** Paths of elections, locks and groups that are gone. */
  readonly removed?: readonly string[];
  /** By the election's path: when the leader's newest heartbeat was committed. */
  readonly heartbeats?: readonly { readonly path: string; readonly at: number }[];
}

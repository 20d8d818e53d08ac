// What an overview shows of elections, locks, groups of shards and servers. The views are plain values that can be sent as JSON.
// All times are in milliseconds since 1970 by the clock of the process that reads them: the servers' times are converted,
// see `ServerClock`. Ids, names and data were written by other clients: they are text, whatever they look like.

/** An election. */
export interface ElectionView {
  /** Its path. */
  readonly path: string;
  /**
   * `led`; `vacant`: there are candidates and no leader; `taking-over`: the record names a leader whose node is gone; `deserted`: there
   * is no candidate; `unreadable`: the record can't be read, or may not be. With several seats the worst of them counts.
   */
  readonly state: 'led' | 'vacant' | 'taking-over' | 'deserted' | 'unreadable';
  /** How many may lead at once. */
  readonly seats: number;
  /** The leader of the first seat that is led. */
  readonly leader: LeaderView | null;
  /** By seat. */
  readonly leaders: readonly (LeaderView | null)[];
  /** In the order of the queue, the leader too. */
  readonly candidates: readonly CandidateView[];
  /** The candidate that leads next, as far as that can be seen; `null` if there is none. */
  readonly next: NextView | null;
  /**
   * The terms of all seats, the oldest first, 100 at most, as far as they were seen. Gaps between two terms of a seat are times without a
   * leader.
   */
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
  /** From 0. */
  readonly seat: number;
  /** How long its lease lasts after a heartbeat, in milliseconds. */
  readonly leaseMs: number;
  /** Whether it is replaced when its lease is over, or when its session is. */
  readonly takeover: 'lease' | 'session';
  /**
   * When its newest heartbeat that was looked at was committed; `null`: none was, or its heartbeats can't be seen. Its lease lasts for
   * `leaseMs` from then on, at least. Heartbeats are looked at while the overview is attended alone.
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
  /** What it advertises, if that is text, shortened to 200 characters. */
  readonly data?: string;
}

/** The candidate that leads next. */
export interface NextView {
  /** Its id. */
  readonly id: string;
  /** Its node's name. */
  readonly node: string;
  /** It is the next in the queue, it has the highest priority, or the leader has named it. */
  readonly why: 'queue' | 'priority' | 'named';
}

/** A term that was seen. */
export interface TermView {
  /** Its number. */
  readonly term: number;
  /** Of which seat, from 0. */
  readonly seat: number;
  /** The leader's id; `null` if it isn't known. */
  readonly id: string | null;
  /** When it began, in milliseconds since 1970. */
  readonly from: number;
  /** When it ended; `null` if it has not, in milliseconds since 1970. */
  readonly to: number | null;
  /**
   * How it ended, as far as that can be seen from outside; `null`: it hasn't. `released`: cleanly, and no candidate was made the next leader;
   * `handed-over`: cleanly, to the next leader; `taken-over`: the leader was silent for longer than its lease, and another one claimed;
   * `session-ended`: the leader's node went without a release; `unknown`: nothing was seen of it.
   */
  readonly end: 'released' | 'handed-over' | 'taken-over' | 'session-ended' | 'unknown' | null;
}

/** A lock that has, or had, contenders since the overview began. */
export interface LockView {
  /** Its path. */
  readonly path: string;
  /** What takes turns in its queue. */
  readonly kind: 'lock' | 'read-write' | 'semaphore';
  /** How many may hold at once; for read-write locks 1, and any number of readers. */
  readonly capacity: number;
  /** In the order of the queue, 500 at most; the first `holding` of them hold. `id` is what its uuid says, or the data that another client gives. */
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
  /** `incomplete`: some shards have no owner that is known; `deserted`: there is no member. */
  readonly state: 'owned' | 'incomplete' | 'deserted' | 'unreadable';
  /** The ids of all shards, in their order. */
  readonly shards: readonly string[];
  /** The members, in the order in which they have come. */
  readonly members: readonly {
    readonly id: string;
    readonly node: string;
    readonly weight: number;
    readonly planner: boolean;
    readonly data?: string;
  }[];
  /** By shard: the index of its owner in `members`, or -1. */
  readonly owners: readonly number[];
  /** Operators' orders which member is to own a shard. */
  readonly pins: readonly { readonly shard: string; readonly member: string }[];
  /** The newest first, 100 at most. */
  readonly moves: readonly MoveView[];
}

/** Only some shards of a group have another owner; its shards, members and pins are the same. */
export interface GroupChange {
  /** The group's path. */
  readonly path: string;
  /** As in `GroupView`. */
  readonly state: GroupView['state'];
  /** Of each of these shards the owner: its index in `members`, or -1. */
  readonly owned: readonly (readonly [shardIndex: number, memberIndex: number])[];
  /** Those that have come, the newest first: to be put before those that are known. */
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
  /** What it says of itself; `unreachable` if it gives no answer. */
  readonly role: 'leader' | 'follower' | 'observer' | 'standalone' | 'unreachable' | 'unknown';
  /** Whether the session that reads is on it. */
  readonly isOurs: boolean;
  /** ZooKeeper's release, if the server says it. */
  readonly version?: string;
}

/** Something that has happened. */
export interface TransitionView {
  /** When it was seen, in milliseconds since 1970. */
  readonly at: number;
  /** Of the election, lock or group. */
  readonly path: string;
  /** What has happened. */
  readonly kind: 'elected' | 'ended' | 'joined' | 'left' | 'moved' | 'created' | 'removed' | 'server';
  /** Of whom; `null` if that is unknown, or there is none. */
  readonly id: string | null;
  /** Of which term. */
  readonly term?: number;
  /** For `ended` the term's end, as in `TermView`; else a few words. */
  readonly reason?: string;
}

/** Everything below a root, at one moment. */
export interface OverviewState {
  /** Whether a server is connected: if not, all that is shown may be old since `disconnectedSince`. */
  readonly connected: boolean;
  /** Since when no server is connected; `null` while one is, in milliseconds since 1970. */
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
  /** What isn't shown, since there is too much of it or it may not be read: a sentence for each such place. Missing if all is shown. */
  readonly limits?: readonly string[];
}

/** What is another now. Each view replaces the one with its path. */
export interface OverviewChange {
  /** As in the state. */
  readonly connected?: boolean;
  /** As in the state. */
  readonly disconnectedSince?: number | null;
  /** Those that have changed. */
  readonly elections?: readonly ElectionView[];
  /** Those that have changed. */
  readonly locks?: readonly LockView[];
  /** Those that have changed. */
  readonly groups?: readonly (GroupView | GroupChange)[];
  /** All of them, when one has changed. */
  readonly servers?: readonly ServerView[];
  /** As in the state: all of them, when they have changed. */
  readonly limits?: readonly string[];
  /** Paths of elections, locks and groups that are gone. */
  readonly removed?: readonly string[];
  /** The newest first: to be put before those that are known. */
  readonly transitions?: readonly TransitionView[];
  /** By the election's path and the seat: when the leader's newest heartbeat was committed. */
  readonly heartbeats?: readonly { readonly path: string; readonly seat: number; readonly at: number }[];
}

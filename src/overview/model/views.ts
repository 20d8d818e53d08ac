// What an overview shows of elections, locks, groups of shards and servers. The views are plain values that can be sent as JSON.
// All times are in milliseconds since 1970 by the clock of the process that reads them: the servers' times are converted,
// see `ServerClock`. Ids, names and data were written by other clients: they are text, whatever they look like.

export interface ElectionView {
  readonly path: string;
  /**
   * `led`; `vacant`: there are candidates and no leader; `taking-over`: the record names a leader whose node is gone; `deserted`: there
   * is no candidate; `unreadable`: the record can't be read, or may not be. With several seats the worst of them counts.
   */
  readonly state: 'led' | 'vacant' | 'taking-over' | 'deserted' | 'unreadable';
  readonly seats: number;
  /** The leader of the first seat that is led. */
  readonly leader: LeaderView | null;
  /** By seat. */
  readonly leaders: readonly (LeaderView | null)[];
  readonly candidates: readonly CandidateView[];
  readonly next: NextView | null;
  /**
   * The terms of all seats, the oldest first, 100 at most, as far as they were seen. Gaps between two terms of a seat are times without a
   * leader.
   */
  readonly terms: readonly TermView[];
}

export interface LeaderView {
  readonly id: string;
  readonly node: string;
  readonly term: number;
  /** When the record that names it was written. */
  readonly since: number;
  readonly seat: number;
  readonly leaseMs: number;
  readonly takeover: 'lease' | 'session';
  /**
   * When its newest heartbeat that was looked at was committed; `null`: none was, or its heartbeats can't be seen. Its lease lasts for
   * `leaseMs` from then on, at least. Heartbeats are looked at while the overview is attended alone.
   */
  readonly heartbeatAt: number | null;
}

export interface CandidateView {
  readonly id: string;
  readonly node: string;
  /** How many candidates are ahead in the queue. */
  readonly position: number;
  readonly priority: number;
  readonly leads: boolean;
  /** What it advertises, if that is text, shortened to 200 characters. */
  readonly data?: string;
}

export interface NextView {
  readonly id: string;
  readonly node: string;
  readonly why: 'queue' | 'priority' | 'named';
}

export interface TermView {
  readonly term: number;
  readonly seat: number;
  readonly id: string | null;
  readonly from: number;
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
  readonly path: string;
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
  readonly holding: number;
}

export interface GroupView {
  readonly path: string;
  /** `incomplete`: some shards have no owner that is known; `deserted`: there is no member. */
  readonly state: 'owned' | 'incomplete' | 'deserted' | 'unreadable';
  readonly shards: readonly string[];
  readonly members: readonly {
    readonly id: string;
    readonly node: string;
    readonly weight: number;
    readonly planner: boolean;
    readonly data?: string;
  }[];
  /** By shard: the index of its owner in `members`, or -1. */
  readonly owners: readonly number[];
  readonly pins: readonly { readonly shard: string; readonly member: string }[];
  /** The newest first, 100 at most. */
  readonly moves: readonly MoveView[];
}

/** Only some shards of a group have another owner; its shards, members and pins are the same. */
export interface GroupChange {
  readonly path: string;
  readonly state: GroupView['state'];
  /** Of each of these shards the owner: its index in `members`, or -1. */
  readonly owned: readonly (readonly [shardIndex: number, memberIndex: number])[];
  /** Those that have come, the newest first: to be put before those that are known. */
  readonly moves: readonly MoveView[];
}

export interface MoveView {
  readonly at: number;
  readonly shard: string;
  readonly from: string | null;
  readonly to: string | null;
}

export interface ServerView {
  /** `host:port` as the connect string has it. */
  readonly address: string;
  readonly role: 'leader' | 'follower' | 'observer' | 'standalone' | 'unreachable' | 'unknown';
  /** Whether the session that reads is on it. */
  readonly isOurs: boolean;
  readonly version?: string;
}

export interface TransitionView {
  readonly at: number;
  readonly path: string;
  readonly kind: 'elected' | 'ended' | 'joined' | 'left' | 'moved' | 'created' | 'removed' | 'server';
  readonly id: string | null;
  readonly term?: number;
  /** For `ended` the term's end, as in `TermView`; else a few words. */
  readonly reason?: string;
}

/** Everything below a root, at one moment. */
export interface OverviewState {
  /** Whether a server is connected: if not, all that is shown may be old since `disconnectedSince`. */
  readonly connected: boolean;
  readonly disconnectedSince: number | null;
  readonly elections: readonly ElectionView[];
  readonly locks: readonly LockView[];
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
  readonly connected?: boolean;
  readonly disconnectedSince?: number | null;
  readonly elections?: readonly ElectionView[];
  readonly locks?: readonly LockView[];
  readonly groups?: readonly (GroupView | GroupChange)[];
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

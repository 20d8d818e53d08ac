/**
 * The metrics, by name: a contract. Each way in which they are exported, docs/operations/metrics.md, the alert rules and the
 * dashboard follow from this table. A name, once published, isn't given another meaning.
 */

/** One metric. */
export interface Family {
  readonly type: 'gauge' | 'counter' | 'histogram';
  /** What it says, in one sentence. */
  readonly help: string;
  readonly unit?: 'seconds';
  /** All labels that its series may have, but for `worker`. */
  readonly labels: readonly string[];
  /** Of a histogram: the upper bounds of its buckets, rising, without infinity. */
  readonly buckets?: readonly number[];
  /** Which value counts if two sources of one process have the same labels. @default `sum` for counters and histograms, `last` for gauges */
  readonly merge?: 'sum' | 'last' | 'max';
}

const ELECTION = ['election', 'id'];
const GROUP = ['group', 'id'];
/** Of the candidates of an election, and of the members of a group of shards. */
const EITHER = ['election', 'group', 'id'];

// A release is answered within milliseconds, and a lease may last for minutes.
const FAILOVER_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 15, 30, 60, 120];
const HANDOVER_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const REPLY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const HOOK_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const TABLE = {
  conclave_leader: {
    type: 'gauge',
    help: 'Whether this candidate leads at this moment, by its lease: 1 or 0.',
    labels: ELECTION,
  },
  leader_election_master_status: {
    type: 'gauge',
    help: 'The same as conclave_leader, by the name and the label of the leader election of client-go.',
    labels: ['name'],
    merge: 'max',
  },
  conclave_seats: {
    type: 'gauge',
    help: 'How many candidates of the election lead at once.',
    labels: ELECTION,
  },
  conclave_term: {
    type: 'gauge',
    help: 'The number of the term that this candidate leads or has led last; 0 before its first.',
    labels: ELECTION,
  },
  conclave_lease_remaining_seconds: {
    type: 'gauge',
    help: 'How long this candidate still leads if no server answers again; 0 unless it leads.',
    unit: 'seconds',
    labels: ELECTION,
  },
  conclave_proof_age_seconds: {
    type: 'gauge',
    help: 'How long ago the newest heartbeat was sent that the servers have committed. While something is led or owned only.',
    unit: 'seconds',
    labels: EITHER,
  },
  conclave_wedged: {
    type: 'gauge',
    help: 'Whether work of a term goes on though its lease is over, or a lease after the stop: 1 or 0.',
    labels: ELECTION,
  },
  conclave_queue_position: {
    type: 'gauge',
    help: 'How many candidates are ahead of this one; 0 while it leads. While it has a place in the queue only.',
    labels: ELECTION,
  },
  conclave_queue_length: {
    type: 'gauge',
    help: 'How many candidates the election has, the leader included. Reported by the leader only.',
    labels: ELECTION,
  },
  conclave_session_state: {
    type: 'gauge',
    help: 'Of each state of a session, whether the newest session is in that state: 1 or 0.',
    labels: [...EITHER, 'state'],
  },
  conclave_transitions_total: {
    type: 'counter',
    help: 'How often this candidate or member has come to be what `to` says, for that reason.',
    labels: [...EITHER, 'to', 'reason'],
  },
  conclave_errors_total: {
    type: 'counter',
    help: 'How many errors were reported by `error` events, by their code; OTHER for errors of other libraries.',
    labels: [...EITHER, 'code'],
  },
  conclave_reconnects_total: {
    type: 'counter',
    help: 'How often a session that had lost its connection was served again.',
    labels: EITHER,
  },
  conclave_takeover_waits_total: {
    type: 'counter',
    help: 'How often this candidate has waited for the end of the lease of a leader that had ended without a release, or was silent.',
    labels: ELECTION,
  },
  conclave_failover_duration_seconds: {
    type: 'histogram',
    help: 'From when this candidate saw that the former leader had gone without a release, or its last heartbeat, until it led.',
    unit: 'seconds',
    labels: ELECTION,
    buckets: FAILOVER_SECONDS,
  },
  conclave_handover_duration_seconds: {
    type: 'histogram',
    help: 'From when this candidate noticed that a term may have been handed over to it until it led.',
    unit: 'seconds',
    labels: ELECTION,
    buckets: HANDOVER_SECONDS,
  },
  conclave_heartbeat_latency_seconds: {
    type: 'histogram',
    help: 'From when a heartbeat that proves nodes of the session was sent until the servers had answered it.',
    unit: 'seconds',
    labels: EITHER,
    buckets: REPLY_SECONDS,
  },
  conclave_hook_duration_seconds: {
    type: 'histogram',
    help: 'How long a call of the clean-up hook has taken, whatever came of it.',
    unit: 'seconds',
    labels: EITHER,
    buckets: HOOK_SECONDS,
  },
  conclave_hook_failures_total: {
    type: 'counter',
    help: 'How many calls of the clean-up hook have failed or were not done in time.',
    labels: EITHER,
  },
  conclave_overruns_total: {
    type: 'counter',
    help: 'How often work still ran when its lease, or the time that it was given to settle, was over.',
    labels: EITHER,
  },
  conclave_shards_owned: {
    type: 'gauge',
    help: 'How many shards this member owns at this moment, by its lease.',
    labels: GROUP,
  },
  conclave_shards_lacking: {
    type: 'gauge',
    help: 'How many shards this member is to own and does not own yet.',
    labels: GROUP,
  },
  conclave_shards_stuck: {
    type: 'gauge',
    help: 'How many shards have work that goes on though it was told to end a lease ago, or the lease is over.',
    labels: GROUP,
  },
  conclave_planner: {
    type: 'gauge',
    help: 'Whether this member plans for its group: 1 or 0.',
    labels: GROUP,
  },
  conclave_shard_transitions_total: {
    type: 'counter',
    help: 'How often this member has acquired, released or lost a shard, for that reason.',
    labels: [...GROUP, 'to', 'reason'],
  },
  conclave_shard_moves_total: {
    type: 'counter',
    help: 'How many shards this member has given to another member that lives, since the plan says so.',
    labels: GROUP,
  },
  conclave_workers: {
    type: 'gauge',
    help: 'How many workers of superviseCluster run.',
    labels: [],
    merge: 'sum',
  },
  conclave_workers_unanswered: {
    type: 'gauge',
    help: 'How many of the workers that run have not told their metrics in time. Theirs are missing.',
    labels: [],
    merge: 'sum',
  },
  conclave_guarded_processes: {
    type: 'gauge',
    help: 'How many processes the guardian guards.',
    labels: [],
    merge: 'sum',
  },
  conclave_worker_exits_total: {
    type: 'counter',
    help: 'How many workers have ended; expected: whether they were asked to.',
    labels: ['expected'],
  },
  conclave_worker_restarts_total: {
    type: 'counter',
    help: 'How often a worker that had ended by itself was to be started again.',
    labels: [],
  },
  conclave_session_cleanups_total: {
    type: 'counter',
    help: 'How many sessions of dead processes the guardian has cleaned up; clean: whether all that they led was given back.',
    labels: ['clean'],
  },
} as const satisfies Record<string, Family>;

export type FamilyName = keyof typeof TABLE;

export const FAMILIES: Readonly<Record<FamilyName, Family>> = TABLE;

/** In the order of the table: that in which they are exported. */
export const FAMILY_NAMES = Object.keys(TABLE) as readonly FamilyName[];

/** The label that says from which worker of `superviseCluster` a series is. */
export const WORKER_LABEL = 'worker';

export function isFamilyName(name: unknown): name is FamilyName {
  return typeof name === 'string' && Object.hasOwn(TABLE, name);
}

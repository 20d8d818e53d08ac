/**
 * The metrics, by name. This table is a contract: the exporters, docs/operations/metrics.md, the alert rules and the dashboard
 * follow it. A published name never gets another meaning.
 */

/** A row of the table. The metric's name says the rest, by Prometheus's conventions: `_seconds` the unit, `_total` a counter. */
interface Row {
  /** The metric's meaning, in one sentence. */
  readonly help: string;
  /** All labels that its series may have, except `worker`. */
  readonly labels: readonly string[];
  /** For a histogram: the upper bounds of its buckets in ascending order, without infinity. */
  readonly buckets?: readonly number[];
  /**
   * Which value counts if two sources of one process have the same labels.
   * @default `sum` for counters and histograms, `last` for gauges
   */
  readonly merge?: 'sum' | 'last' | 'max';
}

/** One metric. */
export interface Family extends Row {
  readonly type: 'gauge' | 'counter' | 'histogram';
}

const ELECTION = ['election', 'id'];
const GROUP = ['group', 'id'];
const JOB = [...ELECTION, 'job'];
/** For candidates of an election and for members of a group of shards. */
const EITHER = ['election', 'group', 'id'];

// Servers answer a release within milliseconds, but a lease may last for minutes.
const FAILOVER_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 15, 30, 60, 120];
const HANDOVER_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const REPLY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const RUN_SECONDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 1800, 3600, 7200];
const HOOK_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const TABLE = {
  conclave_leader: {
    help: 'Whether this candidate leads at this moment, by its lease: 1 or 0.',
    labels: ELECTION,
  },
  leader_election_master_status: {
    help: 'The same as conclave_leader, with the name and the label that the leader election of client-go uses.',
    labels: ['name'],
    merge: 'max',
  },
  conclave_term: {
    help: 'The number of the term that this candidate leads or has led last; 0 before its first.',
    labels: ELECTION,
  },
  conclave_lease_remaining_seconds: {
    help: 'How long this candidate still leads if no server answers again; 0 unless it leads.',
    labels: ELECTION,
  },
  conclave_proof_age_seconds: {
    help: 'How long ago the newest heartbeat was sent that the servers have committed. Reported only while this process leads or owns a shard.',
    labels: EITHER,
  },
  conclave_wedged: {
    help: 'Whether work of a term goes on after its lease is over, or for longer than a lease after the stop: 1 or 0.',
    labels: ELECTION,
  },
  conclave_queue_position: {
    help: 'How many candidates are ahead of this one; 0 while it leads. Reported only while it has a place in the queue.',
    labels: ELECTION,
  },
  conclave_queue_length: {
    help: 'How many candidates the election has, the leader included. Only the leader reports it.',
    labels: ELECTION,
  },
  conclave_session_state: {
    help: 'For each state of a session, whether the newest session is in that state: 1 or 0.',
    labels: [...EITHER, 'state'],
  },
  conclave_transitions_total: {
    help: 'How often this candidate or member has changed to the state `to`, by reason.',
    labels: [...EITHER, 'to', 'reason'],
  },
  conclave_errors_total: {
    help: 'How many errors the `error` events have reported, by code; OTHER for errors of other libraries.',
    labels: [...EITHER, 'code'],
  },
  conclave_reconnects_total: {
    help: 'How often a session that had lost its connection has connected again.',
    labels: EITHER,
  },
  conclave_takeover_waits_total: {
    help: 'How often this candidate has waited for the end of a lease whose leader had ended without a release, or was silent.',
    labels: ELECTION,
  },
  conclave_failover_duration_seconds: {
    help: 'From when this candidate saw that the former leader had gone without a release, or its last heartbeat, until it led.',
    labels: ELECTION,
    buckets: FAILOVER_SECONDS,
  },
  conclave_handover_duration_seconds: {
    help: 'From when this candidate noticed that a term may have been handed over to it until it led.',
    labels: ELECTION,
    buckets: HANDOVER_SECONDS,
  },
  conclave_heartbeat_latency_seconds: {
    help: 'From when a heartbeat that proves nodes of the session was sent until the servers had answered it.',
    labels: EITHER,
    buckets: REPLY_SECONDS,
  },
  conclave_stalls_total: {
    help: 'How often the main thread stood still, and a thread sent the heartbeats of the session, by the session option maxStallMs.',
    labels: EITHER,
  },
  conclave_longest_stall_seconds: {
    help: 'By how much the main thread was late with a heartbeat at most, when a thread sent it.',
    labels: EITHER,
    merge: 'max',
  },
  conclave_heartbeats_repeated_total: {
    help: 'How many heartbeats a thread sent in place of the main thread that the servers have answered.',
    labels: EITHER,
  },
  conclave_hook_duration_seconds: {
    help: 'How long a call of the clean-up hook has taken, whether it succeeded or not.',
    labels: EITHER,
    buckets: HOOK_SECONDS,
  },
  conclave_hook_failures_total: {
    help: 'How many calls of the clean-up hook have failed or have not ended in time.',
    labels: EITHER,
  },
  conclave_overruns_total: {
    help: 'How often work still ran at the end of its lease, or at the end of the time that it had to settle.',
    labels: EITHER,
  },
  conclave_shards: {
    help: 'How many shards the group has, as far as this member knows. Reported from when it has joined the group until its supervisor stops.',
    labels: GROUP,
  },
  conclave_shards_owned: {
    help: 'How many shards this member owns at this moment, by its lease.',
    labels: GROUP,
  },
  conclave_shards_lacking: {
    help: 'How many shards this member should own and does not own yet.',
    labels: GROUP,
  },
  conclave_shards_stuck: {
    help: 'How many shards have work that goes on after its lease is over, or a lease after it was told to end.',
    labels: GROUP,
  },
  conclave_planner: {
    help: 'Whether this member plans for its group: 1 or 0.',
    labels: GROUP,
  },
  conclave_shard_transitions_total: {
    help: 'How often this member has acquired, released or lost a shard, by reason.',
    labels: [...GROUP, 'to', 'reason'],
  },
  conclave_shard_moves_total: {
    help: 'How many shards this member has given to another live member because the plan says so.',
    labels: GROUP,
  },
  conclave_job_firings_total: {
    help: 'How many firings of a job this process has run, or has decided not to run while it led, by outcome.',
    labels: [...JOB, 'outcome'],
  },
  conclave_job_duration_seconds: {
    help: 'How long a run of a job has taken, whether it succeeded or not.',
    labels: JOB,
    buckets: RUN_SECONDS,
  },
  conclave_job_lateness_seconds: {
    help: 'How much later than its firing a run of a job has begun.',
    labels: JOB,
    buckets: RUN_SECONDS,
  },
  conclave_job_running_seconds: {
    help: 'For how long the run of a job has been under way; 0 if none is.',
    labels: JOB,
    merge: 'max',
  },
  conclave_workers: {
    help: 'How many workers of superviseCluster run.',
    labels: [],
    merge: 'sum',
  },
  conclave_workers_unanswered: {
    help: 'How many running workers have not sent their metrics in time. Their metrics are missing.',
    labels: [],
    merge: 'sum',
  },
  conclave_guarded_processes: {
    help: 'How many processes the guardian guards.',
    labels: [],
    merge: 'sum',
  },
  conclave_worker_exits_total: {
    help: 'How many workers have ended; expected: whether they were asked to.',
    labels: ['expected'],
  },
  conclave_worker_restarts_total: {
    help: 'How often the parent has scheduled a restart of a worker that had ended by itself.',
    labels: [],
  },
  conclave_session_cleanups_total: {
    help: 'How many sessions of dead processes the guardian has cleaned up; clean: whether it released all their terms.',
    labels: ['clean'],
  },
} as const satisfies Record<string, Row>;

export type FamilyName = keyof typeof TABLE;

/** The names in the table's order. The exporters keep this order. */
export const FAMILY_NAMES = Object.keys(TABLE) as readonly FamilyName[];

export const FAMILIES = Object.fromEntries(
  FAMILY_NAMES.map((name) => [name, familyOf(name, TABLE[name])]),
) as Readonly<Record<FamilyName, Family>>;

function familyOf(name: FamilyName, row: Row): Family {
  const type = name.endsWith('_total') ? 'counter' : 'gauge';
  return { ...row, type: row.buckets === undefined ? type : 'histogram' };
}

/** The label with the slot of the worker of `superviseCluster` that a series comes from. */
export const WORKER_LABEL = 'worker';

export function isFamilyName(name: unknown): name is FamilyName {
  return typeof name === 'string' && Object.hasOwn(TABLE, name);
}

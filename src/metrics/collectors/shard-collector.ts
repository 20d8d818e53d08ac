import type { EndedAttempt } from '../../cluster/supervisor/cleanup-hook.js';
import type { ShardSupervisor } from '../../shards/supervisor/shard-supervisor.js';
import { Collector, type CollectorPort } from '../model/collector.js';
import { Measurements, type MetricsSnapshot } from '../model/measurements.js';
import { countError, hookCalled, SessionMeasurements } from './session-measurements.js';

type Membership = NonNullable<ShardSupervisor['membership']>;

const TRANSITIONS = new Set(['expired', 'cleaned', 'restarting', 'stopped']);
const SHARD_TRANSITIONS = new Set(['acquired', 'released', 'lost']);

/** Measures a member of a group of shards. Shards have terms, too, but too many of them, and none is worth a span. */
export class ShardCollector extends Collector {
  readonly #source: ShardSupervisor;
  readonly #measurements: Measurements;
  readonly #sessions: SessionMeasurements;
  /**
   * How many shards the group has, as the newest membership knew: alerts compare with it while no process is a member. A source that has
   * stopped hears of no change, so it doesn't report it.
   */
  #shardCount: number | undefined;

  constructor(source: ShardSupervisor, port: CollectorPort) {
    super(port);
    this.#source = source;
    this.#measurements = new Measurements({ group: source.path, id: source.id }, port.observed);
    this.#measurements.begin('conclave_shard_moves_total', 'conclave_overruns_total');
    this.#measurements.begin('conclave_hook_failures_total');
    this.#sessions = new SessionMeasurements(this.#measurements);
    this.closing.push(
      source.tap((event, ...args) => this.#heard(event, args)),
      () => this.#sessions.close(),
    );
    if (source.membership !== undefined) this.#sessions.follow(source.membership.session);
  }

  override async collect(): Promise<MetricsSnapshot> {
    const { owned, lacking, stuck, planner } = this.#source.health();
    const { membership } = this.#source;
    this.#shardCount = membership?.shardCount ?? this.#shardCount;
    const [shard] = membership?.owned ?? []; // One heartbeat of the member's own node proves all shards.
    return this.#sessions.snapshot({
      conclave_shards: this.#shardCount,
      conclave_shards_owned: owned,
      conclave_shards_lacking: lacking.length,
      conclave_shards_stuck: stuck.length,
      conclave_planner: Number(planner),
      conclave_proof_age_seconds: shard?.seemsHeld === true ? shard.proofAgeMs / 1000 : undefined,
    });
  }

  #heard(event: string, [first, second]: readonly unknown[]): void {
    const measurements = this.#measurements;
    if (event === 'membership') this.#sessions.follow((first as Membership).session);
    else if (event === 'hook')
      hookCalled(first as EndedAttempt, this.#source.environment.clock, measurements, this.port);
    else if (event === 'error') countError(measurements, first);
    else if (TRANSITIONS.has(event))
      measurements.count('conclave_transitions_total', { to: event, reason: '' });
    else if (SHARD_TRANSITIONS.has(event)) this.#shardChanged(event, second as string | undefined);
    if (event !== 'stopped') return;
    this.#shardCount = undefined;
    this.sourceStopped();
  }

  #shardChanged(to: string, reason = ''): void {
    this.#measurements.count('conclave_shard_transitions_total', { to, reason });
    if (to === 'released' && reason === 'moved') this.#measurements.count('conclave_shard_moves_total');
  }
}

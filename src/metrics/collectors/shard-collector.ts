import type { EndedAttempt } from '../../cluster/supervisor/cleanup-hook.js';
import type { ShardSupervisor } from '../../shards/supervisor/shard-supervisor.js';
import type { Collector, CollectorPort } from '../model/collector-interface.js';
import { type Labels, Measurements, type MetricsSnapshot, type Series } from '../model/measurements.js';
import type { FamilyName } from '../model/metric-families.js';
import { countError, hookCalled, SessionMeasurements } from './session-measurements.js';

type Membership = NonNullable<ShardSupervisor['membership']>;

const TRANSITIONS = new Set(['expired', 'cleaned', 'restarting', 'stopped']);
const SHARD_TRANSITIONS = new Set(['acquired', 'released', 'lost']);

/** Measures a member of a group of shards. */
export class ShardCollector implements Collector {
  readonly #source: ShardSupervisor;
  readonly #labels: Labels;
  readonly #measurements: Measurements;
  readonly #sessions: SessionMeasurements;
  readonly #port: CollectorPort;
  readonly #untap: () => void;
  /**
   * How many shards the group has, as the newest membership knew: alerts compare with it while no process is a member. A source that has
   * stopped hears of no change, so it doesn't report it.
   */
  #shardCount: number | undefined;
  #hasStopped = false;

  constructor(source: ShardSupervisor, port: CollectorPort) {
    this.#source = source;
    this.#port = port;
    this.#labels = { group: source.path, id: source.id };
    this.#measurements = new Measurements(this.#labels, (...value) => port.observed(...value));
    this.#measurements.begin('conclave_shard_moves_total', 'conclave_overruns_total');
    this.#measurements.begin('conclave_hook_failures_total');
    this.#sessions = new SessionMeasurements(this.#measurements, this.#labels);
    this.#untap = source.tap((event, ...args) => this.#heard(event, args));
    if (source.membership !== undefined) this.#sessions.follow(source.membership.session);
  }

  get hasStopped(): boolean {
    return this.#hasStopped;
  }

  /** None. Shards have terms, too, but too many of them, and none is worth a span. */
  terms() {
    return [];
  }

  async collect(): Promise<MetricsSnapshot> {
    const { owned, lacking, stuck, planner } = this.#source.health();
    const result: Map<FamilyName, Series[]> = this.#measurements.snapshot();
    const set = (name: FamilyName, value: number) => result.set(name, [{ labels: this.#labels, value }]);
    this.#shardCount = this.#source.membership?.shardCount ?? this.#shardCount;
    if (this.#shardCount !== undefined) set('conclave_shards', this.#shardCount);
    set('conclave_shards_owned', owned);
    set('conclave_shards_lacking', lacking.length);
    set('conclave_shards_stuck', stuck.length);
    set('conclave_planner', planner ? 1 : 0);
    const [shard] = this.#source.membership?.owned ?? []; // One heartbeat of the member's own node proves all shards.
    if (shard?.seemsHeld === true) set('conclave_proof_age_seconds', shard.proofAgeMs / 1000);
    const { longestStallSeconds } = this.#sessions;
    if (longestStallSeconds !== undefined) set('conclave_longest_stall_seconds', longestStallSeconds);
    result.set('conclave_session_state', this.#sessions.states());
    return result;
  }

  close(): void {
    this.#untap();
    this.#sessions.close();
  }

  #heard(event: string, [first, second]: readonly unknown[]): void {
    const measurements = this.#measurements;
    if (event === 'membership') this.#sessions.follow((first as Membership).session);
    else if (event === 'hook')
      hookCalled(
        first as EndedAttempt,
        this.#source.environment.clock,
        measurements,
        this.#labels,
        this.#port,
      );
    else if (event === 'error') countError(measurements, first);
    else if (TRANSITIONS.has(event))
      measurements.count('conclave_transitions_total', { to: event, reason: '' });
    else if (SHARD_TRANSITIONS.has(event)) this.#shardChanged(event, second as string | undefined);
    if (event !== 'stopped') return;
    this.#hasStopped = true;
    this.#shardCount = undefined;
    this.#port.stopped();
  }

  #shardChanged(to: string, reason = ''): void {
    this.#measurements.count('conclave_shard_transitions_total', { to, reason });
    if (to === 'released' && reason === 'moved') this.#measurements.count('conclave_shard_moves_total');
  }
}

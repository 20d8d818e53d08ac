import type { EndedAttempt } from '../../cluster/supervisor/cleanup-hook.js';
import { ElectionSupervisor } from '../../cluster/supervisor/election-supervisor.js';
import type { OpenCandidacy } from '../../cluster/supervisor/supervised-elector.js';
import { LeaderElector } from '../../election/leader-elector.js';
import { isLoss } from '../../election/term/demotion.js';
import { ElectedTerm } from '../../election/term/elected-term.js';
import type { DemotionReason } from '../../errors.js';
import { settledWithin } from '../../platform/async/promises.js';
import type { Clock } from '../../platform/time/clock.js';
import { parseEntry } from '../../queue/names-and-order.js';
import type { Session } from '../../session/session.js';
import { ago, type Collector, type CollectorPort } from '../model/collector-interface.js';
import { type Labels, Measurements, type MetricsSnapshot, type Series } from '../model/measurements.js';
import type { FamilyName } from '../model/metric-families.js';
import { countError, hookCalled, SessionMeasurements } from './session-measurements.js';

/** The events that count as transitions. */
const TRANSITIONS = new Set(['waiting', 'elected', 'demoted', 'expired', 'cleaned', 'restarting', 'stopped']);
const LIST_WITHIN_MS = 500;

/** Measures a candidate of an election: a supervisor, or an elector. */
export class ElectionCollector implements Collector {
  readonly #source: ElectionSupervisor | LeaderElector;
  readonly #labels: Labels;
  readonly #measurements: Measurements;
  readonly #sessions: SessionMeasurements;
  readonly #port: CollectorPort;
  readonly #untap: () => void;
  #untapElector: (() => void) | undefined;
  #lastTransition: string | undefined;
  #term = 0;
  #hasStopped = false;

  constructor(source: ElectionSupervisor | LeaderElector, port: CollectorPort) {
    this.#source = source;
    this.#port = port;
    this.#labels = { election: source.path, id: source.id };
    this.#measurements = new Measurements(this.#labels, (...value) => port.observed(...value));
    this.#measurements.begin('conclave_takeover_waits_total', 'conclave_overruns_total');
    this.#sessions = new SessionMeasurements(this.#measurements, this.#labels);
    this.#term = source.term?.number ?? 0;
    this.#untap = source.tap((event, ...args) => this.#heard(event, args));
    if (source instanceof ElectionSupervisor) {
      this.#measurements.begin('conclave_hook_failures_total');
      if (source.candidacy !== undefined) this.#follow(source.candidacy);
    } else {
      const { name } = source.state;
      this.#hasStopped = name === 'stopped' || name === 'expired';
      this.#sessions.follow(source.session, true);
    }
  }

  get hasStopped(): boolean {
    return this.#hasStopped;
  }

  terms() {
    const { term } = this.#source;
    return term === undefined ? [] : [{ labels: this.#labels, term }];
  }

  async collect(): Promise<MetricsSnapshot> {
    const length = await this.#queueLength();
    const { isLeader, term } = this.#source; // `isLeader` ends a term whose lease is over.
    const held = isLeader ? term : undefined;
    const result: Map<FamilyName, Series[]> = this.#measurements.snapshot();
    const set = (name: FamilyName, value: number | undefined, labels = this.#labels) => {
      if (value !== undefined) result.set(name, [{ labels, value }]);
    };
    set('conclave_leader', isLeader ? 1 : 0);
    set('leader_election_master_status', isLeader ? 1 : 0, { name: this.#source.path });
    set('conclave_term', this.#term);
    set('conclave_lease_remaining_seconds', (held?.remainingMs() ?? 0) / 1000);
    if (held instanceof ElectedTerm) set('conclave_proof_age_seconds', held.proofAgeMs / 1000);
    set('conclave_wedged', this.#isWedged ? 1 : 0);
    set('conclave_queue_position', this.#queuePosition);
    set('conclave_queue_length', isLeader ? length : undefined);
    set('conclave_longest_stall_seconds', this.#sessions.longestStallSeconds);
    result.set('conclave_session_state', this.#sessions.states());
    return result;
  }

  close(): void {
    this.#untap();
    this.#untapElector?.();
    this.#sessions.close();
  }

  get #elector(): LeaderElector | undefined {
    return this.#source instanceof LeaderElector ? this.#source : this.#source.candidacy?.elector;
  }

  get #session(): Session | undefined {
    return this.#source instanceof LeaderElector ? this.#source.session : this.#source.candidacy?.session;
  }

  get #clock(): Clock {
    return this.#source instanceof LeaderElector
      ? this.#source.session.clock
      : this.#source.environment.clock;
  }

  get #isWedged(): boolean {
    if (this.#source instanceof ElectionSupervisor) return this.#source.health().wedged;
    return this.#source.isWedged || this.#source.isOverdue;
  }

  get #queuePosition(): number | undefined {
    const state = this.#elector?.state;
    if (state?.name === 'waiting') return state.position;
    return state?.name === 'claiming' || state?.name === 'leading' ? 0 : undefined;
  }

  /** Only the leader lists the queue. Otherwise each of many candidates would list all of them. */
  async #queueLength(): Promise<number | undefined> {
    const session = this.#session;
    if (session?.state.name !== 'connected' || !this.#source.isLeader) return undefined;
    let length: number | undefined;
    const listed = session.getChildren(this.#source.path).then((names) => {
      length = names.filter((name) => parseEntry(name) !== undefined).length;
    });
    await settledWithin(session.clock, listed, LIST_WITHIN_MS);
    return length;
  }

  #follow({ elector, session }: OpenCandidacy): void {
    this.#sessions.follow(session); // The supervisor reports the session's errors.
    this.#untapElector?.();
    this.#untapElector = elector.tap((event) => {
      if (event === 'takeoverWait') this.#measurements.count('conclave_takeover_waits_total');
    });
  }

  #heard(event: string, [first, second]: readonly unknown[]): void {
    switch (event) {
      case 'candidacy':
        return this.#follow(first as OpenCandidacy);
      case 'hook':
        return hookCalled(first as EndedAttempt, this.#clock, this.#measurements, this.#labels, this.#port);
      case 'takeoverWait':
        return this.#measurements.count('conclave_takeover_waits_total');
      case 'error':
        return countError(this.#measurements, first);
      default:
        if (TRANSITIONS.has(event)) this.#changed(event, first, second);
    }
  }

  #changed(to: string, first: unknown, second: unknown): void {
    // Each change of the position in the queue also emits `waiting`. That is no transition.
    if (to === 'waiting' && this.#lastTransition === 'waiting') return;
    this.#lastTransition = to;
    const reason = to === 'elected' ? this.#elected(first) : to === 'demoted' ? (second as string) : '';
    this.#measurements.count('conclave_transitions_total', { to, reason });
    if (to === 'demoted') {
      const why = second as DemotionReason;
      this.#port.termEnded(first as ElectedTerm, why, isLoss(why));
    }
    const isLast = to === 'stopped' || (to === 'expired' && this.#source instanceof LeaderElector);
    if (!isLast) return;
    this.#hasStopped = true;
    this.#port.stopped();
  }

  /** Returns how the candidate got the term: the `reason` of the transition. */
  #elected(term: unknown): string {
    if (!(term instanceof ElectedTerm)) return '';
    this.#term = term.number;
    this.#port.termBegan(this.#labels, term);
    const { origin = { kind: 'vacant' } } = term.claim;
    if (origin.kind === 'vacant') return origin.kind;
    const tookMs = Math.max(0, term.beganAt - origin.sinceMs);
    this.#measurements.observe(`conclave_${origin.kind}_duration_seconds`, tookMs / 1000);
    if (origin.kind === 'failover') this.#port.tookOver(this.#labels, term, ago(this.#clock.date(), tookMs));
    return origin.kind;
  }
}

import type { EndedAttempt } from '../../cluster/supervisor/cleanup-hook.js';
import { ElectionSupervisor } from '../../cluster/supervisor/election-supervisor.js';
import type { OpenCandidacy } from '../../cluster/supervisor/supervised-elector.js';
import { LeaderElector } from '../../election/leader-elector.js';
import { isLoss } from '../../election/term/demotion.js';
import { ElectedTerm } from '../../election/term/elected-term.js';
import type { DemotionReason } from '../../errors.js';
import { clockOf, electorOf, type Leadership } from '../../jobs/elector-or-supervisor.js';
import { settledWithin } from '../../platform/async/promises.js';
import { parseEntry } from '../../queue/names-and-order.js';
import { ago, Collector, type CollectorPort, type TermListener } from '../model/collector.js';
import { type Labels, Measurements, type MetricsSnapshot } from '../model/measurements.js';
import { countError, hookCalled, SessionMeasurements } from './session-measurements.js';

/** The events that count as transitions. */
const TRANSITIONS = new Set(['waiting', 'elected', 'demoted', 'expired', 'cleaned', 'restarting', 'stopped']);
const LIST_WITHIN_MS = 500;

/** Measures a candidate of an election: a supervisor, or an elector. */
export class ElectionCollector extends Collector {
  readonly #source: Leadership;
  readonly #measurements: Measurements;
  readonly #sessions: SessionMeasurements;
  #untapElector: (() => void) | undefined;
  #lastTransition: string | undefined;
  #term: number;

  constructor(source: Leadership, port: CollectorPort) {
    super(port);
    this.#source = source;
    this.#measurements = new Measurements({ election: source.path, id: source.id }, port.observed);
    this.#measurements.begin('conclave_takeover_waits_total', 'conclave_overruns_total');
    this.#sessions = new SessionMeasurements(this.#measurements);
    this.#term = source.term?.number ?? 0;
    this.closing.push(
      source.tap((event, ...args) => this.#heard(event, args)),
      () => this.#untapElector?.(),
      () => this.#sessions.close(),
    );
    if (source instanceof ElectionSupervisor) {
      this.#measurements.begin('conclave_hook_failures_total');
      if (source.candidacy !== undefined) this.#follow(source.candidacy);
    } else {
      const { name } = source.state;
      this.hasStopped = name === 'stopped' || name === 'expired';
      this.#sessions.follow(source.session, true);
    }
  }

  override introduce(listener: TermListener): void {
    const { term } = this.#source;
    if (term !== undefined) listener.termBegan(this.#labels, term);
  }

  override async collect(): Promise<MetricsSnapshot> {
    const length = await this.#queueLength();
    const { isLeader, term } = this.#source; // `isLeader` ends a term whose lease is over.
    const held = isLeader ? term : undefined;
    const leads = Number(isLeader);
    const snapshot = this.#sessions.snapshot({
      conclave_leader: leads,
      conclave_term: this.#term,
      conclave_lease_remaining_seconds: (held?.remainingMs() ?? 0) / 1000,
      conclave_proof_age_seconds: held instanceof ElectedTerm ? held.proofAgeMs / 1000 : undefined,
      conclave_wedged: Number(this.#isWedged),
      conclave_queue_position: this.#queuePosition,
      conclave_queue_length: isLeader ? length : undefined,
    });
    const labels = { name: this.#source.path };
    return snapshot.set('leader_election_master_status', [{ labels, value: leads }]);
  }

  get #labels(): Labels {
    return this.#measurements.labels;
  }

  get #isWedged(): boolean {
    if (this.#source instanceof ElectionSupervisor) return this.#source.health().wedged;
    return this.#source.isWedged || this.#source.isOverdue;
  }

  get #queuePosition(): number | undefined {
    const state = electorOf(this.#source)?.state;
    if (state?.name === 'waiting') return state.position;
    return state?.name === 'claiming' || state?.name === 'leading' ? 0 : undefined;
  }

  /** Only the leader lists the queue. Otherwise each of many candidates would list all of them. */
  async #queueLength(): Promise<number | undefined> {
    const session = electorOf(this.#source)?.session;
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
        return hookCalled(first as EndedAttempt, clockOf(this.#source), this.#measurements, this.port);
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
      this.port.trace((listener) => listener.termEnded(first as ElectedTerm, why, isLoss(why)));
    }
    if (to === 'stopped' || (to === 'expired' && this.#source instanceof LeaderElector)) this.sourceStopped();
  }

  /** Returns how the candidate got the term: the `reason` of the transition. */
  #elected(term: unknown): string {
    if (!(term instanceof ElectedTerm)) return '';
    this.#term = term.number;
    this.port.trace((listener) => listener.termBegan(this.#labels, term));
    const { origin = { kind: 'vacant' } } = term.claim;
    if (origin.kind === 'vacant') return origin.kind;
    const tookMs = Math.max(0, term.beganAt - origin.sinceMs);
    this.#measurements.observe(`conclave_${origin.kind}_duration_seconds`, tookMs / 1000);
    if (origin.kind === 'failover') {
      const since = ago(clockOf(this.#source).date(), tookMs);
      this.port.trace((listener) => listener.tookOver(this.#labels, term, since));
    }
    return origin.kind;
  }
}

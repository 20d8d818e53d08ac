import type { EndedAttempt } from '../../cluster/supervisor/cleanup-hook.js';
import { ConclaveError } from '../../errors.js';
import type { Clock } from '../../platform/time/clock.js';
import type { Session } from '../../session/session.js';
import type { SessionState } from '../../session/session-state.js';
import { ago, type CollectorPort } from '../model/collector.js';
import type { Gauges, Measurements, WritableSnapshot } from '../model/measurements.js';

const STATES: readonly SessionState['name'][] = ['connecting', 'connected', 'suspended', 'expired', 'closed'];

/** Measures the sessions of one source, one session after another. */
export class SessionMeasurements {
  readonly #measurements: Measurements;
  #session: Session | undefined;
  #untap: (() => void) | undefined;
  #longestStallMs: number | undefined;

  constructor(measurements: Measurements) {
    this.#measurements = measurements;
    measurements.begin('conclave_reconnects_total');
  }

  /**
   * Measures this session from now on, and no longer the one before.
   * @param countsErrors - `true` if no other measured emitter reports the session's errors
   */
  follow(session: Session, countsErrors = false): void {
    this.#untap?.();
    this.#session = session;
    if (session.isRepeated) {
      this.#measurements.begin('conclave_stalls_total', 'conclave_heartbeats_repeated_total');
      this.#longestStallMs ??= 0;
    }
    this.#untap = session.tap((event, value) => {
      if (event === 'heartbeat')
        this.#measurements.observe('conclave_heartbeat_latency_seconds', (value as number) / 1000);
      else if (event === 'repeated') this.#measurements.count('conclave_heartbeats_repeated_total');
      else if (event === 'stall') this.#stalled(value as number);
      else if (event === 'resumed') this.#measurements.count('conclave_reconnects_total');
      else if (event === 'error' && countsErrors) countError(this.#measurements, value);
    });
  }

  #stalled(ms: number): void {
    this.#measurements.count('conclave_stalls_total');
    this.#longestStallMs = Math.max(ms, this.#longestStallMs ?? 0);
  }

  /** How long the longest stall took at least, in seconds; `undefined` if no session has had `maxStallMs`. */
  get longestStallSeconds(): number | undefined {
    return this.#longestStallMs === undefined ? undefined : this.#longestStallMs / 1000;
  }

  /** All that was measured of the source, with the sessions' gauges and the given ones. */
  snapshot(gauges: Gauges): WritableSnapshot {
    const { labels } = this.#measurements;
    const now = this.#session?.state.name;
    const states = STATES.map((state) => ({ labels: { ...labels, state }, value: Number(state === now) }));
    const all = { ...gauges, conclave_longest_stall_seconds: this.longestStallSeconds };
    return this.#measurements.snapshot(all).set('conclave_session_state', states);
  }

  close(): void {
    this.#untap?.();
  }
}

/** Counts errors of other libraries as `OTHER`, because their codes may be any text. Conclave's codes are a closed list. */
export function countError(measurements: Measurements, error: unknown): void {
  const code = error instanceof ConclaveError ? error.code : 'OTHER';
  measurements.count('conclave_errors_total', { code });
  if (code === 'WORK_OVERRUN') measurements.count('conclave_overruns_total');
}

/** A call of a supervisor's clean-up hook has ended. */
export function hookCalled(
  { attempt, tookMs, error }: EndedAttempt,
  clock: Clock,
  measurements: Measurements,
  port: CollectorPort,
): void {
  measurements.observe('conclave_hook_duration_seconds', tookMs / 1000);
  if (error !== undefined) measurements.count('conclave_hook_failures_total');
  const call = { attempt, since: ago(clock.date(), tookMs), error };
  port.trace((listener) => listener.hookCalled(measurements.labels, call));
}

import type { HealthSource } from '../cluster/supervisor/health-handler.js';
import { InvalidOptionError } from '../errors.js';
import { checkId } from '../platform/checks.js';

/** A supervisor's health, as @nestjs/terminus takes it. */
export interface LeaderHealth {
  /** `down` makes terminus answer with 503. */
  readonly status: 'up' | 'down';
  /** As in the supervisor's `health()`. */
  readonly live: boolean;
  /** As in the supervisor's `health()`. */
  readonly ready: boolean;
  /** As in the supervisor's `health()`. */
  readonly reasons: readonly string[];
}

/**
 * A health indicator for `HealthCheckService.check` of @nestjs/terminus 11 and 12: `up` while `supervisor.health().live`, or `ready`. A
 * waiting candidate is ready as well as a leader.
 *
 * Not for terminus 8 to 10, which answer with 200 although an indicator returns `down`. Use `healthHandler` there.
 *
 * @param supervisor - an `ElectionSupervisor` or a `ShardSupervisor`
 * @param which - `live`: restart the process if it is down; `ready`: route no requests to it
 * @param key - the indicator's name in terminus's answer
 * @throws InvalidOptionError
 *
 * @example
 * ```ts
 * health.check([leaderHealth(supervisor, 'live')]);
 * ```
 */
export function leaderHealth<Key extends string = 'conclave'>(
  supervisor: HealthSource,
  which: 'live' | 'ready',
  key = 'conclave' as Key,
): () => Record<Key, LeaderHealth> {
  if (typeof (supervisor as Partial<HealthSource> | undefined)?.health !== 'function')
    throw new InvalidOptionError('supervisor', supervisor, 'an ElectionSupervisor or a ShardSupervisor');
  if (which !== 'live' && which !== 'ready')
    throw new InvalidOptionError('which', which, "'live' or 'ready'");
  checkId('key', key);
  return () => {
    const health = supervisor.health();
    return { [key]: { status: health[which] ? 'up' : 'down', ...health } } as Record<Key, LeaderHealth>;
  };
}

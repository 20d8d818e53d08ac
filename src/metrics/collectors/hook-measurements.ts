import type { EndedAttempt } from '../../cluster/supervisor/cleanup-hook.js';
import type { Clock } from '../../platform/time/clock.js';
import { ago, type CollectorPort } from '../model/collector.js';
import type { Measurements } from '../model/measurements.js';
import type { Labels } from '../model/series.js';

/** A call of a supervisor's clean-up hook has ended. */
export function hookCalled(
  { attempt, tookMs, error }: EndedAttempt,
  clock: Clock,
  measurements: Measurements,
  labels: Labels,
  port: CollectorPort,
): void {
  measurements.observe('conclave_hook_duration_seconds', tookMs / 1000);
  if (error !== undefined) measurements.count('conclave_hook_failures_total');
  port.hookCalled(labels, { attempt, since: ago(clock.date(), tookMs), error });
}

import { recordOf } from '../../jobs/run-log.js';

/** The name of the job of `conclave once` in its run log. */
export const ONCE_JOB = 'once';

/** The run log of an election's `conclave once`. */
export function onceLogOf(election: string): string {
  return `${election}/cron`;
}

/** The node that says when `conclave once` last ran a command. */
export function onceRecordOf(election: string): string {
  return recordOf(onceLogOf(election), ONCE_JOB);
}

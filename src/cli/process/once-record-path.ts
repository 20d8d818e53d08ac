import { recordOf, runLogOf } from '../../jobs/run-log.js';

/** The name of the job of `conclave once` in its election's run log. */
export const ONCE_JOB = 'once';

/** The node that says when the `conclave once` of an election last ran a command. */
export function onceRecordOf(election: string): string {
  return recordOf(runLogOf(election), ONCE_JOB);
}

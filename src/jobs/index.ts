/** `conclave/jobs`: jobs on any scheduler's times, each firing once. */
export type { JobRun } from './job.js';
export type { JobOptions } from './job-options.js';
export { LeaderJobs, type LeaderJobsOptions } from './leader-jobs.js';

/** `conclave/jobs`: jobs on any scheduler's times, each firing once. */
export type { JobOptions } from './job-options.js';
export type { JobRun } from './job-run.js';
export { type JobFunction, LeaderJobs, type LeaderJobsOptions } from './leader-jobs.js';

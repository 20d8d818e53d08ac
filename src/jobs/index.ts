/** `conclave/jobs`: jobs on any scheduler's times, each firing once. */
export type { JobOptions } from './job-options.js';
export { type JobFunction, LeaderJobs, type LeaderJobsOptions } from './leader-jobs.js';
export type { JobRun } from './run-of-job.js';

export type { CatchUpTask } from './catch-up.js';
export type { CatchUpOptions, MissedFirings } from './catch-up-plan.js';
export { LeaderRunCoordinator, type LeaderRunCoordinatorOptions } from './coordinator.js';
export type { JobContext } from './job-runs.js';
export type { Schedule } from './schedule.js';

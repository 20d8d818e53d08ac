export { type JobContext, LeaderRunCoordinator, type LeaderRunCoordinatorOptions } from './coordinator.js';

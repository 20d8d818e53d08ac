/** `conclave/nestjs`: elections in a NestJS application. */
export {
  ConclaveModule,
  type ConclaveModuleAsyncOptions,
  type ConclaveModuleOptions,
  type ConclaveOptionsFactory,
  type ElectionInNest,
} from './conclave-module.js';
export { InjectSupervisor, jobsToken, supervisorToken } from './injection-tokens.js';
export { type LeaderHealth, leaderHealth } from './leader-health.js';
export { LeaderJob, type LeaderJobDecorator, type LeaderJobOptions } from './leader-job.js';
export { LeaderOnly, type LeaderOnlyDecorator, type LeaderOnlyOptions } from './leader-only.js';

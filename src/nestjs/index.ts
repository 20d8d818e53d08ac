/** `conclave/nestjs`: elections in a NestJS application. */
export {
  ConclaveModule,
  type ConclaveModuleAsyncOptions,
  type ConclaveModuleOptions,
  type ElectionInNest,
} from './conclave-module.js';
export { type LeaderHealth, leaderHealth } from './leader-health.js';
export { LeaderOnly, type LeaderOnlyOptions } from './leader-only.js';
export { InjectSupervisor, supervisorToken } from './tokens.js';

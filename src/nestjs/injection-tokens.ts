import { Inject } from '@nestjs/common';
import { ElectionSupervisor } from '../cluster/supervisor/election-supervisor.js';
import { LeaderJobs } from '../jobs/leader-jobs.js';
import { checkId } from '../platform/checks.js';
import { refuseStandardDecorators } from './method-decoration.js';

/**
 * The injection token of the supervisor of `ConclaveModule.forRoot({ name })`: the class `ElectionSupervisor` without a name.
 *
 * @throws InvalidOptionError if the name isn't a string of 1 to 256 printable characters
 */
export function supervisorToken(name?: string): typeof ElectionSupervisor | string {
  return checkId('name', name) === undefined ? ElectionSupervisor : `ElectionSupervisor:${name}`;
}

/**
 * The injection token of the jobs of `ConclaveModule.forRoot({ name })`: the class `LeaderJobs` without a name.
 *
 * @throws InvalidOptionError as {@link supervisorToken} does
 */
export function jobsToken(name?: string): typeof LeaderJobs | string {
  return checkId('name', name) === undefined ? LeaderJobs : `LeaderJobs:${name}`;
}

/**
 * Injects the supervisor of `ConclaveModule.forRoot({ name })`, into a parameter of a constructor or into a property.
 *
 * @throws InvalidOptionError as {@link supervisorToken} does. InvalidStateError without the compiler option `experimentalDecorators`
 */
export function InjectSupervisor(name?: string): PropertyDecorator & ParameterDecorator {
  const inject = Inject(supervisorToken(name));
  return (target: object, key: string | symbol | undefined, index?: number) => {
    refuseStandardDecorators('@InjectSupervisor()', key);
    inject(target, key, index as number); // Nest tells a property by an index that is undefined.
  };
}

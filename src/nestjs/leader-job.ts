import { InvalidOptionError } from '../errors.js';
import type { JobOptions } from '../jobs/job-options.js';
import type { JobRun } from '../jobs/job-run.js';
import type { LeaderJobs } from '../jobs/leader-jobs.js';
import { checkId } from '../platform/checks.js';
import { jobsToken } from './injection-tokens.js';
import { injectedValue, type Method, replacedMethod } from './method-decoration.js';

/** Which leader runs the job, and how. */
export interface LeaderJobOptions extends JobOptions {
  /**
   * The key of the job's record, the same in each replica. Give one if your build renames classes.
   * @default the class of the instance and the method: `ReportsService.write`
   */
  readonly name?: string;
  /** The name that `ConclaveModule.forRoot` got. @default that of the module without a name */
  readonly election?: string;
}

/** Decorates a method that gets the run of a job, or nothing. */
export interface LeaderJobDecorator {
  /** @typeParam Work - the method's type */
  // biome-ignore lint/style/useShorthandFunctionType: a docstring of its own can name the type parameter.
  <Work extends (run: JobRun) => unknown>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<Work>,
  ): void;
}

/**
 * Makes a job of `LeaderJobs` of a method that a scheduler calls in each replica, for example by `@Cron()` or `@Interval()` of
 * @nestjs/schedule. Each firing runs once, in the process that leads, with the guarantees of `LeaderJobs`. The method gets the `JobRun`,
 * whatever the scheduler gives. A call resolves as the function that `LeaderJobs.job` returns.
 *
 * It may stand above or below the scheduler's decorator. Not for `@Timeout()`, which fires at the start of each replica: use `lead`.
 *
 * Each instance that Nest creates is a job of its own, so only one instance of a class may have it. A subclass that overrides the method
 * has no job from it, and must have a `@LeaderJob()` of its own; it can't call the method of `super`. A call on an instance without the job
 * rejects with an `InvalidStateError`.
 *
 * @throws InvalidOptionError unless it decorates a method, and for a wrong `name` or `election`; for the other options, when Nest
 *   creates the instance. InvalidStateError without the compiler option `experimentalDecorators`
 *
 * @example
 * ```ts
 * @Cron('0 3 * * *')
 * @LeaderJob({ lateMs: 60_000 })
 * async backUp({ scheduledFor, token, signal }: JobRun) {}
 * ```
 */
export function LeaderJob(options?: LeaderJobOptions): LeaderJobDecorator {
  if (options !== undefined && (typeof options !== 'object' || options === null))
    throw new InvalidOptionError('options', options, 'an object');
  const { name, election, ...others } = options ?? {};
  checkId('name', name);
  const token = jobsToken(election);
  return replacedMethod('@LeaderJob()', (target, key, method) => {
    const jobOf = injectedValue(
      '@LeaderJob()',
      target,
      token,
      (instance, jobs: LeaderJobs): Method | undefined => {
        if (ownerOf(instance, key) !== target) return undefined;
        const work = (run: JobRun) => method.call(instance, run);
        return jobs.job(name ?? `${instance.constructor.name}.${String(key)}`, work, others);
      },
    );
    return async function (...args) {
      return await jobOf(this).apply(this, args);
    };
  });
}

/** The object that has the property itself: the instance, or one of its prototypes. */
function ownerOf(instance: object, key: string | symbol): object | null {
  let at: object | null = instance;
  while (at !== null && !Object.hasOwn(at, key)) at = Object.getPrototypeOf(at);
  return at;
}

import {
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  Module,
  type ModuleMetadata,
  Logger as NestLogger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { ElectionSupervisor } from '../cluster/supervisor/election-supervisor.js';
import type { ElectionSupervisorOptions } from '../cluster/supervisor/election-supervisor-options.js';
import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { LeaderJobs } from '../jobs/leader-jobs.js';
import { checkFunction, checkOptions, checkPositiveMs } from '../platform/checks.js';
import { PINO_SERIALIZERS } from '../platform/logging/logged-error.js';
import type { Logger } from '../platform/logging/logger.js';
import { formatText } from '../platform/logging/lossy-output.js';
import { jobsToken, supervisorToken } from './injection-tokens.js';

/** An election in a Nest application. */
export interface ElectionInNest {
  /** For the injection tokens, and the option `election` of the decorators. Of several elections, name all but one. */
  readonly name?: string;
  /**
   * How long `onModuleDestroy` waits until the leader's work has settled, in milliseconds. Then it rejects with `StopPendingError`, and
   * Nest ends the process at a signal. The platform must wait longer before it kills the process. @default 20000
   */
  readonly stopWithinMs?: number;
}

/** How an application campaigns: the options of an `ElectionSupervisor`, and those of its module. */
export interface ConclaveModuleOptions<T = undefined> extends ElectionSupervisorOptions<T>, ElectionInNest {}

/** A provider with the options of a supervisor. */
export interface ConclaveOptionsFactory<T = undefined> {
  /** Called once, before Nest creates the supervisor. */
  createConclaveOptions(): ElectionSupervisorOptions<T> | Promise<ElectionSupervisorOptions<T>>;
}

/** As {@link ConclaveModuleOptions}, with the supervisor's options from one of three: a function, a class or a provider. */
export interface ConclaveModuleAsyncOptions<T = undefined>
  extends ElectionInNest,
    Pick<ModuleMetadata, 'imports'> {
  /** The tokens of what `useFactory` gets. */
  readonly inject?: FactoryProvider['inject'];
  /** Gives the options of the supervisor. */
  readonly useFactory?: (
    ...injected: never[]
  ) => ElectionSupervisorOptions<T> | Promise<ElectionSupervisorOptions<T>>;
  /** A class that Nest creates for it. */
  readonly useClass?: Type<ConclaveOptionsFactory<T>>;
  /** The token of a provider of the modules in `imports`. */
  readonly useExisting?: InjectionToken<ConclaveOptionsFactory<T>>;
}

const ASYNC_OPTIONS = [
  'name',
  'stopWithinMs',
  'imports',
  'inject',
  'useFactory',
  'useClass',
  'useExisting',
] as const;

/** The token of {@link lifecycleOf}'s hooks. */
const LIFECYCLE = Symbol('SupervisorLifecycle');

/** Starts the supervisor with the application, and stops it with the application: Nest calls these hooks of a provider's value. */
function lifecycleOf(
  supervisor: ElectionSupervisor,
  timeoutMs: number,
): OnApplicationBootstrap & OnModuleDestroy {
  return {
    // Not awaited: without a ZooKeeper the application still answers its probes.
    onApplicationBootstrap: () => void supervisor.start(),
    onModuleDestroy: () => supervisor.stop({ timeoutMs }),
  };
}

/**
 * Makes an `ElectionSupervisor`, and its `LeaderJobs`, injectable in the whole application. The supervisor starts in
 * `onApplicationBootstrap`, which doesn't wait for it: the application begins without a server. It stops in `onModuleDestroy`, with the
 * order of `supervisor.stop()`. Its log and that of the jobs go to Nest's logger, unless you give another `logger`. If `start()` rejects, for example because the servers refuse the
 * credentials, the rejection is unhandled and ends the process.
 *
 * Call `app.enableShutdownHooks()`, so that a signal stops the supervisor, and not `supervisor.shutdownOn`. Close what the leader's work
 * needs in a later hook than `onModuleDestroy`: `beforeApplicationShutdown` or `onApplicationShutdown`. Nest stops several elections one
 * after the other.
 *
 * Give each election but one a `name`. Up to Nest 10, two modules without a name are one. Nest 11 and 12 start two supervisors, of which
 * they inject one.
 *
 * @example
 * ```ts
 * imports: [ConclaveModule.forRoot({ connect: 'zk1:2181,zk2:2181,zk3:2181', path: '/elections/reports' })],
 * ```
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest's modules are classes
export class ConclaveModule {
  /** @throws InvalidOptionError for a wrong `name` or `stopWithinMs`; for the others, when Nest creates the supervisor */
  static forRoot<T = undefined>(options: ConclaveModuleOptions<T>): DynamicModule {
    if (typeof options !== 'object' || options === null)
      throw new InvalidOptionError('options', options, 'an object with at least connect and path');
    const { name, stopWithinMs, ...election } = options;
    return moduleOf<T>({ name, stopWithinMs, useFactory: () => election as ElectionSupervisorOptions<T> });
  }

  /** @throws as {@link ConclaveModule.forRoot}, and for an unknown option, and unless there is exactly one of
   *   `useFactory`, `useClass` and `useExisting` */
  static forRootAsync<T = undefined>(options: ConclaveModuleAsyncOptions<T>): DynamicModule {
    return moduleOf(checkOptions<ConclaveModuleAsyncOptions<T>>('options', options, ASYNC_OPTIONS));
  }
}

Module({})(ConclaveModule);

/** Whether it isn't the stand-in of a test, by `overrideProvider()`. */
function isReal(supervisor: ElectionSupervisor): boolean {
  return supervisor instanceof ElectionSupervisor;
}

/** What the options come from. @throws InvalidOptionError */
function sourceOf<T>({ inject = [], useFactory, useClass, useExisting }: ConclaveModuleAsyncOptions<T>) {
  checkFunction('useFactory', useFactory);
  const given = [useFactory, useClass, useExisting].filter((each) => each !== undefined);
  if (given.length !== 1)
    throw new InvalidOptionError('the number of useFactory, useClass and useExisting', given.length, '1');
  const token = (useExisting ?? useClass) as InjectionToken<ConclaveOptionsFactory<T>>;
  const create: typeof useFactory = (factory: ConclaveOptionsFactory<T>) => factory.createConclaveOptions();
  return {
    providers: useClass === undefined ? [] : [useClass],
    inject: useFactory === undefined ? [token] : inject,
    useFactory: useFactory ?? create,
  };
}

/** The jobs beside a stand-in. */
const NO_JOBS: Pick<LeaderJobs, 'job'> = {
  job: () => async () => {
    throw new InvalidStateError(
      'the supervisor is a stand-in, which runs no jobs: override the provider LeaderJobs as well, for example by a JobTester of conclave/testing',
    );
  },
};

function moduleOf<T>(options: ConclaveModuleAsyncOptions<T>): DynamicModule {
  const { imports = [] } = options;
  const token = supervisorToken(options.name);
  const jobs = jobsToken(options.name);
  const stopWithinMs = checkPositiveMs('stopWithinMs', options.stopWithinMs, 20_000);
  const { providers, inject, useFactory } = sourceOf(options);
  const logger = nestLogger();
  const loggers = new WeakMap<object, Logger>(); // By supervisor: its jobs log where it does.
  return {
    module: ConclaveModule,
    global: true,
    imports,
    providers: [
      ...providers,
      {
        provide: token,
        inject,
        useFactory: async (...given: never[]) => {
          const election = await useFactory(...given);
          const supervisor = new ElectionSupervisor<T>({ ...election, logger: election.logger ?? logger });
          loggers.set(supervisor, election.logger ?? logger);
          return supervisor;
        },
      },
      {
        provide: jobs,
        inject: [token],
        useFactory: (supervisor: ElectionSupervisor) =>
          isReal(supervisor)
            ? new LeaderJobs(supervisor, { logger: loggers.get(supervisor) ?? logger })
            : NO_JOBS,
      },
      {
        provide: LIFECYCLE,
        inject: [token],
        useFactory: (supervisor: ElectionSupervisor) =>
          isReal(supervisor) ? lifecycleOf(supervisor, stopWithinMs) : {},
      },
    ],
    exports: [token, jobs],
  };
}

/** Logs by Nest's logger, which takes texts. */
function nestLogger(): Logger {
  const nest = new NestLogger(ConclaveModule.name);
  const logger = {
    [PINO_SERIALIZERS]: {}, // The text has the stacks of the errors.
    debug: (details: object, message: string) => nest.debug(formatText(message, details)),
    info: (details: object, message: string) => nest.log(formatText(message, details)),
    warn: (details: object, message: string) => nest.warn(formatText(message, details)),
    error: (details: object, message: string) => nest.error(formatText(message, details)),
  };
  return logger;
}

import {
  type DynamicModule,
  type FactoryProvider,
  Logger,
  Module,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ElectionSupervisor } from '../cluster/supervisor/supervisor.js';
import type { ElectionSupervisorOptions } from '../cluster/supervisor/supervisor-options.js';
import { InvalidOptionError } from '../errors.js';
import { LeaderJobs } from '../jobs/leader-jobs.js';
import { checkFunction, checkOptions, checkPositiveMs } from '../platform/checks.js';
import { stackLines } from '../platform/logging/logged-error.js';
import { jobsToken, supervisorToken } from './tokens.js';

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
export interface ConclaveModuleOptions extends ElectionSupervisorOptions, ElectionInNest {}

/** As {@link ConclaveModuleOptions}, with the supervisor's options from a function that gets what Nest injects. */
export interface ConclaveModuleAsyncOptions extends ElectionInNest, Pick<ModuleMetadata, 'imports'> {
  /** The tokens of what `useFactory` gets. */
  readonly inject?: FactoryProvider['inject'];
  /** Gives the options of the supervisor. */
  readonly useFactory: (
    ...injected: never[]
  ) => ElectionSupervisorOptions | Promise<ElectionSupervisorOptions>;
}

const ASYNC_OPTIONS = ['name', 'stopWithinMs', 'imports', 'inject', 'useFactory'] as const;

/** Starts the supervisor with the application, and stops it with the application. Nest calls it because it is a provider. */
class SupervisorLifecycle implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #supervisor: ElectionSupervisor;
  readonly #stopWithinMs: number;

  constructor(supervisor: ElectionSupervisor, stopWithinMs: number) {
    this.#supervisor = supervisor;
    this.#stopWithinMs = stopWithinMs;
    const nest = new Logger(ConclaveModule.name);
    supervisor.on('error', (error) => nest.error(`${error.message}${stackLines(error)}`));
  }

  onApplicationBootstrap(): void {
    // Not awaited: without a ZooKeeper the application still answers its probes.
    void this.#supervisor.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.#supervisor.stop({ timeoutMs: this.#stopWithinMs });
  }
}

/**
 * Makes an `ElectionSupervisor`, and its `LeaderJobs`, injectable in the whole application. The supervisor starts in
 * `onApplicationBootstrap`, which doesn't wait for it: the application begins without a server. It stops in `onModuleDestroy`, with the
 * order of `supervisor.stop()`. Its errors go to Nest's logger. If `start()` rejects, for example because the servers refuse the
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
  static forRoot(options: ConclaveModuleOptions): DynamicModule {
    if (typeof options !== 'object' || options === null)
      throw new InvalidOptionError('options', options, 'an object with at least connect and path');
    const { name, stopWithinMs, ...election } = options;
    return moduleOf({ name, stopWithinMs, useFactory: () => election });
  }

  /** @throws as {@link ConclaveModule.forRoot}, and for a wrong `useFactory` or an unknown option */
  static forRootAsync(options: ConclaveModuleAsyncOptions): DynamicModule {
    return moduleOf(checkOptions<ConclaveModuleAsyncOptions>('options', options, ASYNC_OPTIONS));
  }
}

Module({})(ConclaveModule);

function moduleOf(options: ConclaveModuleAsyncOptions): DynamicModule {
  const { imports = [], inject = [] } = options;
  const token = supervisorToken(options.name);
  const jobs = jobsToken(options.name);
  const stopWithinMs = checkPositiveMs('stopWithinMs', options.stopWithinMs, 20_000);
  const useFactory = checkFunction('useFactory', options.useFactory);
  if (useFactory === undefined) throw new InvalidOptionError('useFactory', useFactory, 'a function');
  return {
    module: ConclaveModule,
    global: true,
    imports,
    providers: [
      {
        provide: token,
        inject,
        useFactory: async (...given: never[]) => new ElectionSupervisor(await useFactory(...given)),
      },
      {
        provide: jobs,
        inject: [token],
        useFactory: (supervisor: ElectionSupervisor) => new LeaderJobs(supervisor),
      },
      {
        provide: SupervisorLifecycle,
        inject: [token],
        useFactory: (supervisor: ElectionSupervisor) => new SupervisorLifecycle(supervisor, stopWithinMs),
      },
    ],
    exports: [token, jobs],
  };
}

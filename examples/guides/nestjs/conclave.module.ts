import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ElectionSupervisor, type ElectionSupervisorOptions, type Term } from 'conclave';

/** How long a shutdown waits for the leader's work, in milliseconds. The application ends with an error after that. */
const STOP_WITHIN_MS = 20_000;

/** Makes an `ElectionSupervisor` injectable: starts it with the application, and stops it with the application. */
@Module({})
export class ConclaveModule implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #logger = new Logger(ConclaveModule.name);

  constructor(@Inject(ElectionSupervisor) private readonly supervisor: ElectionSupervisor) {
    supervisor.on('error', (error) => this.#logger.error(error.message));
  }

  static forRoot(options: ElectionSupervisorOptions): DynamicModule {
    return {
      module: ConclaveModule,
      global: true,
      providers: [{ provide: ElectionSupervisor, useFactory: () => new ElectionSupervisor(options) }],
      exports: [ElectionSupervisor],
    };
  }

  onApplicationBootstrap(): void {
    // Not awaited: without a ZooKeeper the application still answers its probes. Refused credentials end the process.
    void this.supervisor.start();
  }

  /** The first hook of a shutdown. Close what the leader's work needs in a later one: `onApplicationShutdown()`. */
  async onModuleDestroy(): Promise<void> {
    await this.supervisor.stop({ timeoutMs: STOP_WITHIN_MS });
  }
}

const SUPERVISOR = Symbol('supervisor');
const running = new AsyncLocalStorage<Term>();

/** The term for which a `@LeaderOnly()` method runs: for its token, and for `assertHeld()` right before each write. */
export function currentTerm(): Term {
  const term = running.getStore();
  if (term === undefined) throw new Error('currentTerm() was called outside of a @LeaderOnly() method');
  return term;
}

/**
 * The method runs only while this process leads, and gives `undefined` in the other processes. It counts as the leader's
 * work: no other process leads before it has settled.
 */
export function LeaderOnly(): MethodDecorator {
  return (target, _name, descriptor: PropertyDescriptor) => {
    Inject(ElectionSupervisor)(target, SUPERVISOR);
    const method = descriptor.value as (...args: unknown[]) => unknown;
    async function onlyAsLeader(this: { [SUPERVISOR]: ElectionSupervisor }, ...args: unknown[]) {
      const { term } = this[SUPERVISOR];
      if (!term?.isHeld()) return undefined;
      const work = running.run(term, async () => method.apply(this, args));
      term.waitUntil(work.catch(() => undefined)); // The caller is told of a failure.
      return work;
    }
    // What other decorators have noted on the method, @Cron() for example.
    for (const key of Reflect.getMetadataKeys(method))
      Reflect.defineMetadata(key, Reflect.getMetadata(key, method), onlyAsLeader);
    descriptor.value = onlyAsLeader;
  };
}

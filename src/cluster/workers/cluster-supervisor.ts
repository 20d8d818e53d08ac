import type { ChildProcess } from 'node:child_process';
import type { EventEmitter } from 'node:events';
import { InvalidOptionError, InvalidStateError, WorkerFailedError } from '../../errors.js';
import { LazyAbortController } from '../../platform/async/lazy-abort-controller.js';
import { abortable, deferred, ignore, settledWithin } from '../../platform/async/promises.js';
import { type Environment, systemEnvironment } from '../../platform/injected-environment.js';
import { type Reporting, ReportingEmitter } from '../../platform/logging/reporting-emitter.js';
import type { EventNames } from '../../platform/safe-emitter.js';
import { queueMicrotask } from '../../platform/time/timers.js';
import { mark } from '../../public-class/instance-brand.js';
import type { ElectionRole } from '../dead-children/guarded-process.js';
import { isChildProcess, SessionGuardian } from '../dead-children/session-guardian.js';
import {
  type ClusterOptions,
  type ResolvedClusterOptions,
  resolveClusterOptions,
} from './cluster-options.js';
import { type SlotPort, type WorkerExit, WorkerSlot } from './worker-slot.js';

/** One worker, as it is now. */
export interface WorkerStatus {
  /** Its number, from 0. When this worker has ended, the next one in its place has the same number. */
  readonly slot: number;
  /** Its process; `undefined` while it has none. */
  readonly pid: number | undefined;
  /** Its role in elections. */
  readonly role: ElectionRole;
}

/** A worker is about to be started again. */
export interface WorkerRestart {
  /** The worker's number, from 0. */
  readonly slot: number;
  /** 1 after the first failure in a row. */
  readonly attempt: number;
  /** How long from now, in milliseconds. */
  readonly delayMs: number;
}

/** The events of a {@link ClusterSupervisor}. */
export interface ClusterEvents {
  /** A worker has been started. */
  spawned(worker: WorkerStatus): void;
  /** A worker leads now, or waits in the queue, or does neither. */
  roleChanged(worker: WorkerStatus): void;
  /** A worker has ended. */
  exited(exit: WorkerExit): void;
  /** A worker is started again after a pause. */
  restarting(restart: WorkerRestart): void;
  /** All workers have ended, and none is started again. */
  stopped(): void;
  /** A worker had to be killed, failed too often, or couldn't be guarded; or a listener failed. The supervisor goes on. */
  error(error: Error): void;
}

/** @internal */
export const CLUSTER_EVENTS: EventNames<ClusterEvents> = {
  spawned: true,
  roleChanged: true,
  exited: true,
  restarting: true,
  stopped: true,
  error: true,
};

/**
 * Runs a number of workers of one program, one of which leads. It restarts workers that end, and gives the
 * terms of a dead worker back at once. It ends the workers in an order that causes one handover at most.
 *
 * Guaranteed: what its {@link SessionGuardian} guarantees. The leader is asked to end when all others have ended, and gives
 * its term back as it always does. Not guaranteed: that a worker ends by itself, so give it `shutdownOn(['SIGTERM'])`;
 * a worker that doesn't end in time is killed.
 *
 * Works with workers that use an `ElectionSupervisor`, or `registerWithGuardian`. Other workers are run and restarted too, but have
 * no role.
 */
export class ClusterSupervisor extends ReportingEmitter<ClusterEvents> {
  /** Gives the terms of a dead worker back. Reports that by its event `cleanedUp`. */
  readonly guardian: SessionGuardian;
  readonly #options: ResolvedClusterOptions;
  readonly #environment: Environment;
  readonly #slots: readonly WorkerSlot[];
  readonly #stop = new LazyAbortController();
  #rolling: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;

  /** @internal See {@link superviseCluster}. */
  constructor(options: ResolvedClusterOptions) {
    super();
    this.#options = options;
    this.#environment = options.guardian.session?.environment ?? systemEnvironment;
    this.guardian = new SessionGuardian(options.guardian);
    this.guardian.on('error', (error) => this.report(error));
    this.guardian.on('roleChanged', (child) => {
      const slot = this.#slots.find((each) => each.child === child);
      if (slot !== undefined) this.emit('roleChanged', this.#statusOf(slot));
    });
    const port = this.#port();
    this.#slots = Array.from({ length: options.workers }, (_, slot) => new WorkerSlot(slot, port));
  }

  /** All workers that run, in the order of their numbers. */
  get workers(): readonly WorkerStatus[] {
    return this.#slots.filter((slot) => slot.child !== undefined).map((slot) => this.#statusOf(slot));
  }

  /** @internal The processes of all workers that run. */
  get children(): readonly { readonly slot: number; readonly child: ChildProcess }[] {
    return this.#slots.flatMap(({ number, child }) => (child === undefined ? [] : [{ slot: number, child }]));
  }

  /** @internal */
  get environment(): Environment {
    return this.#environment;
  }

  /** @internal */
  start(): void {
    for (const slot of this.#slots) slot.start();
  }

  /**
   * Replaces all workers, one after the other: each as soon as the new worker before it has a place in its election. The leader
   * comes last, so that there is one handover. A second call meanwhile returns the same promise.
   *
   * @throws WorkerFailedError if a new worker has no place within `readyTimeoutMs`; workers that weren't replaced keep running
   * @throws InvalidStateError if it is stopped, before or meanwhile
   */
  replaceWorkers(): Promise<void> {
    this.#rolling ??= this.#replaceWorkers().finally(() => {
      this.#rolling = undefined;
    });
    return this.#rolling;
  }

  /**
   * Ends all workers: first those that don't lead, all at once; then those that lead. Resolves when all have ended, and the
   * guardian is closed. Idempotent; never rejects.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#end();
    return this.#stopping;
  }

  /** Stops it, for `await using`: the same as `stop()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #end(): Promise<void> {
    this.#stop.abort(new InvalidStateError('the workers were told to stop'));
    for (const slot of this.#slots) slot.closeDown(); // A worker that ends by itself from here on isn't replaced.
    const followers = this.#slots.filter((slot) => this.#roleOf(slot) !== 'leading');
    await Promise.all(followers.map((slot) => slot.end(false)));
    await Promise.all(this.#slots.map((slot) => slot.end(false)));
    await this.guardian.close();
    this.#options.logger.info({}, 'stopped all workers');
    this.emit('stopped');
  }

  async #replaceWorkers(): Promise<void> {
    const left = new Set(this.#slots);
    while (left.size > 0) {
      this.#stop.throwIfAborted();
      const slot = [...left].find((each) => this.#roleOf(each) !== 'leading') ?? [...left][0];
      left.delete(slot as WorkerSlot);
      await this.#replace(slot as WorkerSlot);
    }
  }

  async #replace(slot: WorkerSlot): Promise<void> {
    const { readyTimeoutMs } = this.#options;
    await slot.end(true);
    const ready = deferred();
    const check = () => {
      if (this.#roleOf(slot) !== 'none') ready.resolve();
    };
    this.guardian.on('roleChanged', check);
    check();
    await settledWithin(this.#environment.clock, abortable(ready.promise, this.#stop), readyTimeoutMs);
    ready.resolve(); // Ends the wait also after the time-out.
    this.guardian.off('roleChanged', check);
    this.#stop.throwIfAborted();
    if (this.#roleOf(slot) === 'none') {
      const late = `worker ${slot.number} has no place in an election after ${readyTimeoutMs} ms`;
      throw new WorkerFailedError(slot.number, `${late}: the others were not replaced`);
    }
  }

  #port(): SlotPort {
    const { fork, logger } = this.#options;
    return {
      ...this.#options,
      environment: this.#environment,
      fork: (slot) => forkedProcess(fork(slot)),
      onSpawned: (slot, child) => {
        if (child.pid !== undefined) this.guardian.watch(child);
        logger.info({ worker: slot, childPid: child.pid }, 'worker started');
        this.emit('spawned', this.#statusOf(this.#slots[slot] as WorkerSlot));
      },
      onExited: (exit) => {
        const { slot: worker, pid: childPid, ...end } = exit;
        logger.info({ worker, childPid, ...end }, 'worker ended');
        this.emit('exited', exit);
      },
      onRestarting: (slot, attempt, delayMs) => {
        logger.info({ worker: slot, attempt, delayMs: Math.round(delayMs) }, 'restarting a worker');
        this.emit('restarting', { slot, attempt, delayMs });
      },
      onError: (error) => this.report(error),
    };
  }

  #roleOf({ child }: WorkerSlot): ElectionRole {
    return child === undefined ? 'none' : this.guardian.roleOf(child);
  }

  #statusOf(slot: WorkerSlot): WorkerStatus {
    return { slot: slot.number, pid: slot.child?.pid, role: this.#roleOf(slot) };
  }

  /** @internal */
  protected override get reporting(): Reporting<ClusterEvents> {
    return {
      events: CLUSTER_EVENTS,
      logger: this.#options.logger,
      message: 'something went wrong with a worker',
    };
  }
}

mark(ClusterSupervisor, 'ClusterSupervisor');

/**
 * Starts workers, and keeps them running: for a primary of `node:cluster`, or any process that forks.
 *
 * @example
 * ```ts
 * if (cluster.isPrimary) {
 *   const workers = superviseCluster({ connect: 'zk1:2181,zk2:2181,zk3:2181', workers: 4 });
 *   workers.on('error', (error) => console.error(error));
 *   process.once('SIGTERM', () => void workers.stop());
 * } else {
 *   const supervisor = new ElectionSupervisor({ connect, path: '/elections/scheduler', lead: runScheduler });
 *   supervisor.shutdownOn(['SIGTERM']);
 *   await supervisor.start();
 * }
 * ```
 * @throws InvalidOptionError if an option is wrong
 */
export function superviseCluster(options: ClusterOptions): ClusterSupervisor {
  const supervisor = new ClusterSupervisor(resolveClusterOptions(options));
  queueMicrotask(() => supervisor.start()); // So that the caller can listen before the first worker is started.
  return supervisor;
}

function forkedProcess(worker: unknown): ChildProcess {
  const process: unknown = isChildProcess(worker)
    ? worker
    : (worker as { process?: unknown } | undefined)?.process;
  if (isChildProcess(process)) {
    // A worker of node:cluster emits its process's errors a second time, which would end this process.
    if (process !== worker) (worker as EventEmitter).on('error', ignore);
    if (process.channel !== undefined || process.pid === undefined) return process;
    process.kill('SIGKILL'); // It couldn't be guarded.
  }
  throw new InvalidOptionError('fork', worker, 'a function that returns what fork returns');
}

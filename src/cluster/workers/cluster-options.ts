import type { ChildProcess } from 'node:child_process';
import type { Worker } from 'node:cluster';
import { constants } from 'node:os';
import { InvalidOptionError } from '../../errors.js';
import {
  asGiven,
  type ChecksOf,
  checkFunction,
  checkPositiveMs,
  checkWhole,
  definedOnly,
  readOptions,
} from '../../platform/checks.js';
import { resolveLogger } from '../../platform/logging/logger.js';
import { RETRY_OPTIONS, type RetryOptions, resolveRetryOptions } from '../../platform/retry/backoff.js';
import { GUARDIAN_SESSION_OPTIONS, type SessionGuardianOptions } from '../dead-children/session-guardian.js';

/** How {@link superviseCluster} runs workers. All times are in milliseconds. */
export interface ClusterOptions extends SessionGuardianOptions {
  /** The number of workers, from 1 to 1000. */
  readonly workers: number;
  /**
   * Starts a worker, with `fork` of `node:child_process` or `node:cluster`. Its argument is the worker's number, from 0.
   * @default cluster.fork() of node:cluster
   */
  readonly fork?: (slot: number) => ChildProcess | Worker;
  /**
   * Back-off of restarts, for each worker. After a worker has run for longer than the longest pause, its failure count starts again. After
   * its last attempt it isn't restarted, and `error` reports that. @default forever, with pauses from 100 to 5000 ms
   */
  readonly restart?: RetryOptions;
  /** The signal that asks a worker to end; see `ElectionSupervisor.shutdownOn`. @default 'SIGTERM' */
  readonly stopSignal?: NodeJS.Signals;
  /** How long a worker may take to end before it is killed. @default 15000 */
  readonly stopTimeoutMs?: number;
  /** How long a worker may take to have a place in its election when workers are replaced one by one. @default 30000 */
  readonly readyTimeoutMs?: number;
}

const MOST_WORKERS = 1000;

const CHECKS = {
  connect: asGiven<ClusterOptions['connect']>, // The guardian checks it, and `session`.
  session: asGiven<ClusterOptions['session']>,
  logger: (name, value) => resolveLogger(value, name),
  workers: (name, value) => checkWhole(name, value, 1, MOST_WORKERS),
  fork: (name, value: ClusterOptions['fork']) => checkFunction(name, value) ?? forkWorker,
  restart: (name, value) => resolveRetryOptions(value, Number.POSITIVE_INFINITY, name),
  stopSignal: checkStopSignal,
  stopTimeoutMs: (name, value) => checkPositiveMs(name, value, 15_000),
  readyTimeoutMs: (name, value) => checkPositiveMs(name, value, 30_000),
} satisfies ChecksOf<ClusterOptions>;

/** @internal Options that were checked, with their defaults. */
export type ResolvedClusterOptions = ReturnType<typeof resolveClusterOptions>;

/** @throws InvalidOptionError if an option is wrong; it names the option, the value and a right one */
export function resolveClusterOptions(given: unknown) {
  if (given === undefined)
    throw new InvalidOptionError('cluster', given, 'an object with at least connect and workers');
  const within = { session: GUARDIAN_SESSION_OPTIONS, restart: RETRY_OPTIONS };
  const { connect, session, ...own } = readOptions('cluster', given, CHECKS, { within });
  const guardian = definedOnly<SessionGuardianOptions>({ connect, logger: own.logger, session });
  return { ...own, guardian };
}

function forkWorker(): Worker {
  // Loaded only when it is used: that takes its time. Its declarations are those of an import, which has a default.
  const cluster = process.getBuiltinModule(
    'node:cluster',
  ) as unknown as typeof import('node:cluster').default;
  return cluster.fork();
}

function checkStopSignal(name: string, value: unknown): NodeJS.Signals {
  if (value === undefined) return 'SIGTERM';
  if (typeof value === 'string' && Object.hasOwn(constants.signals, value) && value !== 'SIGSTOP')
    return value as NodeJS.Signals;
  throw new InvalidOptionError(name, value, "a signal's name, as 'SIGTERM'");
}

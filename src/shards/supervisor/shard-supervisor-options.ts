import {
  CODE_RETRIES,
  LOOP_CHECKS,
  resolveLoopOptions,
  WITHIN_LOOP,
} from '../../cluster/supervisor/supervision-loop-options.js';
import { InvalidOptionError } from '../../errors.js';
import { type ChecksOf, checkFunction, checkMs, readOptions } from '../../platform/checks.js';
import type { Logger } from '../../platform/logging/logger.js';
import { type RetryOptions, resolveRetryOptions } from '../../platform/retry/backoff.js';
import type { SessionOptions } from '../../session/session-options.js';
import type { Shard } from '../ownership/owned-shard.js';
import { ShardList } from '../stored/shard-list.js';
import type { ComingShard } from './preparations.js';
import type { LostShards, ShardCleanupHook } from './shard-supervisor-events.js';

/** How a `ShardSupervisor` takes part in a group, works and recovers. All times are in milliseconds. */
export interface ShardSupervisorOptions {
  /**
   * The servers: `host[:port],host[:port]…[/chroot]`. Or a function that gives them, which is asked before each round of servers: the
   * list may change, and the chroot may not.
   */
  readonly connect: string | (() => string | Promise<string>);
  /** The group's path. */
  readonly path: string;
  /**
   * How many shards the group has, or their names. It is stored in ZooKeeper and the same for all members:
   * `start()` of a member with other shards rejects with `ShardsMismatchError`. A member with a number from
   * before a resize uses the present one. @default what the group has
   */
  readonly shards?: number | readonly string[];
  /**
   * The member's name. Give one that stays the same after a restart of the process (the host name in a
   * StatefulSet, for example): then the member gets back the shards that it had.
   * @default host name, process id and a random part
   */
  readonly id?: string;
  /** Its share of the shards, in proportion to the other members' weights: a number over 0. @default 1 */
  readonly weight?: number;
  /** What others can look up about the owner of a shard: its address, for example. Up to 16 KiB. */
  readonly data?: string;
  /**
   * The work for one shard. Called when the process owns the shard. It should end soon after `shard.signal` aborts: the shard isn't given
   * back before. If it returns earlier, the process keeps the shard. If it throws, it is called again, with the pauses of `retry`, in the
   * same term. After the last try the shard is given back, and this process doesn't take it again for 10 to 20 s, then for twice as long,
   * up to 10 minutes. After a minute of running, the failure count starts again.
   */
  readonly run?: (shard: Shard) => unknown;
  /**
   * Called before this member takes a shard from another live member: to warm a cache, for example. The other member keeps working
   * meanwhile. If the hook throws, the shard goes to another member. A shard without an owner is taken at once, without this hook.
   *
   * At most 16 calls are under way at a time. If one hasn't settled after 30 s, this member takes the shard anyway. The call is reported
   * once, as a `ShardFailedError`, and continues, but no longer counts.
   */
  readonly prepare?: (shard: ComingShard) => unknown;
  /**
   * The clean-up hook: called when the member has lost its session or its node, when all its work has settled and before it joins again. It
   * gets the shards that were lost. A hook that throws is called again, with back-off; after the last attempt the supervisor stops with
   * `CleanupFailedError`. It may return `'stop'`. For a stop meanwhile see `ElectionSupervisorOptions.cleanup`.
   */
  readonly cleanup?: ShardCleanupHook;
  /** How long one attempt of the hook may take. @default 30000 */
  readonly cleanupTimeoutMs?: number;
  /** How each session is opened. */
  readonly session?: Omit<SessionOptions, 'signal'>;
  /** Back-off of restarts (forever by default), of the hook and of `run` (5 tries by default). */
  readonly retry?: RetryOptions;
  /**
   * How long the shards of this member wait for it, without an owner, after it has left in good order: for
   * restarts that are too short to be worth a move. Only with an `id` that you give. @default 0
   */
  readonly graceMs?: number;
  /** Whether to register the sessions with a `SessionGuardian` in the parent process, if there is one. @default true */
  readonly guardian?: boolean;
  /** Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL, else warnings and errors on stderr */
  readonly logger?: Logger;
}

const MOST_DATA = 16_384;

const CHECKS = {
  ...LOOP_CHECKS,
  shards: (_, value) => (value === undefined ? undefined : ShardList.of(value)),
  weight: checkWeight,
  data: checkData,
  run: checkFunction<(shard: Shard) => unknown>,
  prepare: checkFunction<(shard: ComingShard) => unknown>,
  graceMs: checkGrace,
} satisfies ChecksOf<ShardSupervisorOptions>;

/** @internal Options that were checked, with their defaults. */
export type ResolvedShardOptions = ReturnType<typeof resolveShardOptions>;

/** Checks everything at once: what is wrong must not turn up at the first loss. @throws InvalidOptionError */
export function resolveShardOptions(given: unknown) {
  if (given === undefined)
    throw new InvalidOptionError('supervisor', given, 'an object with at least connect and path');
  const options = readOptions('supervisor', given, CHECKS, { within: WITHIN_LOOP });
  return {
    ...options,
    ...resolveLoopOptions<LostShards>(options, 'group'),
    /** Whether the application has given the id, so that the member may come again under it. */
    keepsHome: options.id !== undefined,
    runRetry: resolveRetryOptions(options.retry, CODE_RETRIES),
  };
}

function checkWeight(name: string, value: unknown): number {
  if (value === undefined) return 1;
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0)
    throw new InvalidOptionError(name, value, 'a finite number over 0');
  return value;
}

function checkData(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || Buffer.byteLength(value) > MOST_DATA)
    throw new InvalidOptionError(name, value, `a string of at most ${MOST_DATA} bytes`);
  return value;
}

/** A name made by chance never comes again: shards that waited for it would wait in vain. */
function checkGrace(name: string, value: unknown, { id }: ShardSupervisorOptions): number {
  const graceMs = checkMs(name, value) ?? 0;
  if (graceMs > 0 && id === undefined)
    throw new InvalidOptionError(name, graceMs, 'none without an id that stays the same after a restart');
  return graceMs;
}

import { InvalidOptionError, LockTimeoutError } from '../errors.js';
import { checkFunction, checkMetadata, checkMs, checkOptions, checkSignal } from '../platform/checks.js';
import { type Access, checkAccess } from '../session/protocol/acl.js';
import { DOWNGRADED, REVOKE } from './grant.js';
import type { LockHold } from './lock-hold.js';
import type { Purpose } from './queue/order.js';
import type { QueuePosition } from './queue/turn-wait.js';

/** How to acquire a lock. */
export interface AcquireOptions {
  /** How long to wait for it, in milliseconds; 0 means "now or never". @default for ever */
  readonly timeoutMs?: number;
  /** Aborting it ends the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called while other contenders block, with how many have to go, and the name of the node that is waited for. */
  readonly onWaiting?: (position: QueuePosition) => void;
}

/** How to ask for a lock that another contender holds. */
export interface RevokeOptions {
  /** The name of the contender's node. @default the first in the queue */
  readonly node?: string;
  /** How long to wait until the node is gone, in milliseconds. @default for ever */
  readonly timeoutMs?: number;
  /** Aborting it ends the wait; the request stays. */
  readonly signal?: AbortSignal;
}

/** How a lock's contenders join its queue. */
export interface LockOptions {
  /**
   * The data of a contender's node, up to 16 KiB: for people who look at it. Neither `__READ__`, which marks a writer that
   * only reads any more, nor `__REVOKE__`, which asks for the lock. @default empty
   */
  readonly data?: string | Uint8Array;
  /** The access list of the contenders' nodes, and of the lock's path if that is missing. @default the session's `access` */
  readonly access?: Access;
  /**
   * What other clients put between their own name and the number, if their nodes are to count as contenders too:
   * `['__lock__']` for kazoo's Lock. Curator's and go-zookeeper's count anyway. They count as wanting an exclusive lock.
   * @default []
   */
  readonly extraLockPatterns?: readonly string[];
  /**
   * Called at most once for each time that the lock is held, when another client asks for it, by `revoke` here or by
   * Curator's Revoker. The holder decides whether and when to release. @default requests are ignored
   */
  readonly onRevoke?: (hold: LockHold) => void;
}

/** A contender in the queue of a lock, as others see it. */
export interface QueuedContender {
  /** A uuid that was made for this node, or what another client writes in its place. */
  readonly id: string;
  /** The name of its node. */
  readonly node: string;
  /** How many contenders are ahead of it in the queue. */
  readonly position: number;
  /** Its node's number: a signed 32-bit counter that wraps round. Not a fencing token. */
  readonly sequence: number;
  /** What it wants the lock for: `read` is shared with other readers, the others are exclusive. */
  readonly purpose: Purpose;
}

/** What all locks have in common. */
export interface Lock {
  /** The queue's path. */
  readonly path: string;
  /** Waits for the lock. */
  acquire(options?: AcquireOptions): Promise<LockHold>;
  /** Acquires the lock if it is free; else `undefined`, with nothing left in the queue. */
  tryAcquire(): Promise<LockHold | undefined>;
  /** Runs `work` while the lock is held, and releases it when the work has settled. */
  using<T>(work: (hold: LockHold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>;
  /** The contenders in its queue, in order. */
  contenders(): Promise<QueuedContender[]>;
}

/** The error of a call that ran out of time. */
export function tooLate({ path }: { readonly path: string }, what: string, ms: number): LockTimeoutError {
  return new LockTimeoutError(`${path} was not ${what} within ${ms} ms`);
}

export function checkAcquireOptions(given: unknown): AcquireOptions {
  const options = checkOptions<AcquireOptions>('acquire', given, ['timeoutMs', 'signal', 'onWaiting']);
  checkMs('timeoutMs', options.timeoutMs);
  checkSignal('signal', options.signal);
  checkFunction('onWaiting', options.onWaiting);
  return options;
}

export function checkRevokeOptions(given: unknown): RevokeOptions {
  const options = checkOptions<RevokeOptions>('revoke', given, ['node', 'timeoutMs', 'signal']);
  if (options.node !== undefined && (typeof options.node !== 'string' || /^$|\//.test(options.node)))
    throw new InvalidOptionError('node', options.node, "the name of a contender's node");
  checkMs('timeoutMs', options.timeoutMs);
  checkSignal('signal', options.signal);
  return options;
}

/** @internal Checked options, with defaults. */
export interface ResolvedLockOptions {
  readonly data: Buffer | undefined;
  readonly access: Access | undefined;
  readonly extraLockPatterns: readonly string[];
  readonly onRevoke: ((hold: LockHold) => void) | undefined;
}

/** One object for all locks without options: there may be very many. */
const DEFAULTS = resolveLockOptions({});

export function resolveLockOptions(given: unknown): ResolvedLockOptions {
  if (given === undefined) return DEFAULTS;
  const options = checkOptions<LockOptions>('lock', given, [
    'data',
    'access',
    'extraLockPatterns',
    'onRevoke',
  ]);
  return {
    data: checkData(options.data),
    access: checkAccess(options.access, undefined),
    extraLockPatterns: checkPatterns(options.extraLockPatterns),
    onRevoke: checkFunction('onRevoke', options.onRevoke),
  };
}

function checkData(value: unknown): Buffer | undefined {
  const given = checkMetadata('data', value);
  if (given === undefined) return undefined;
  const data = Buffer.from(given); // A copy: the caller may change the original.
  // A writer's node with that data would let readers in beside the writer.
  if (![DOWNGRADED, REVOKE].some((mark) => mark.equals(data))) return data;
  throw new InvalidOptionError(
    'data',
    data.toString(),
    'anything but __READ__ and __REVOKE__, by which locks tell each other something',
  );
}

function checkPatterns(value: unknown): readonly string[] {
  if (value === undefined) return [];
  // After a digit it would be unclear where the number begins.
  if (Array.isArray(value) && value.every((each) => typeof each === 'string' && /^[^/]*[^/\d]$/.test(each)))
    return [...value];
  throw new InvalidOptionError(
    'extraLockPatterns',
    value,
    "a list of what stands before the number, as '__lock__': not empty, without /, not ending with a digit",
  );
}

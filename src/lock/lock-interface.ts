import { InvalidOptionError, LockTimeoutError } from '../errors.js';
import { checkFunction, checkMetadata, checkMs, checkOptions, checkSignal } from '../platform/checks.js';
import type { QueuePosition } from '../queue/turn-wait.js';
import { type Access, checkAccess } from '../session/protocol/acl.js';
import type { LockHold } from './lock-hold.js';
import { DOWNGRADED, REVOKE } from './reentrant-grant.js';

/** How to acquire a lock. */
export interface AcquireOptions {
  /** How long to wait for the lock, in milliseconds. With 0 the call fails unless the lock is free now. @default forever */
  readonly timeoutMs?: number;
  /** Aborting it ends the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Called each time a listing of the queue shows contenders that block: with the number of nodes that have to go first, and the
   * name of the nearest. If it throws, the call rejects with that error.
   */
  readonly onWaiting?: (position: QueuePosition) => void;
}

/** How to ask another contender for its lock. */
export interface RevokeOptions {
  /** The name of the contender's node. @default the node that is first in the queue */
  readonly node?: string;
  /** How long to wait until the node is gone, in milliseconds. @default forever */
  readonly timeoutMs?: number;
  /** Aborting it ends the wait: the call rejects with the signal's reason. The request stays on the node. */
  readonly signal?: AbortSignal;
}

/** How a lock's contenders join its queue. */
export interface LockOptions {
  /**
   * The data of a contender's node, up to 16 KiB, for people who look at it. Two values aren't allowed: `__READ__` marks a writer
   * that has become a reader, and `__REVOKE__` asks for the lock. @default empty
   */
  readonly data?: string | Uint8Array;
  /**
   * The access list of the contenders' nodes. The lock's path gets it, too, if the lock creates that path. @default the session's `access`
   */
  readonly access?: Access;
  /**
   * Makes the nodes of other clients count as contenders for an exclusive lock. Give the text between the id and the number in
   * their names: `['__lock__']` for kazoo's Lock. Nodes of Curator and go-zookeeper always count. A node with such a name blocks
   * even if it belongs to no session, since kazoo makes such nodes on purpose. It blocks until a client deletes it.
   * @default []
   */
  readonly extraLockPatterns?: readonly string[];
  /**
   * Called when another client asks for the lock, by `revoke` or with Curator's Revoker: at most once for each time that the lock
   * is held. The holder decides whether and when to release. @default requests are ignored
   */
  readonly onRevoke?: (hold: LockHold) => void;
}

/** A contender in the queue of a lock, as others see it. */
export interface QueuedContender {
  /** A uuid that was made for this node, or the text that another client writes in its place. */
  readonly id: string;
  /** The name of its node. */
  readonly node: string;
  /** How many contenders are ahead of this one in the queue. */
  readonly position: number;
  /** The number of its node, from a signed 32-bit counter that wraps round. Don't use it as a fencing token. */
  readonly sequence: number;
  /** How the contender wants to hold the lock: `read` is shared with other readers; `lock` and `write` are exclusive. */
  readonly purpose: 'lock' | 'write' | 'read';
}

/** The interface that all locks have in common. For the errors see {@link QueueLock}. */
export interface Lock {
  /** The path of the queue's node. */
  readonly path: string;
  /** Waits for the lock. */
  acquire(options?: AcquireOptions): Promise<LockHold>;
  /** Acquires the lock if it is free. Otherwise resolves with `undefined`, and leaves the queue. */
  tryAcquire(): Promise<LockHold | undefined>;
  /** Acquires the lock, runs `work`, and releases the lock when the work has settled. */
  using<T>(work: (hold: LockHold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>;
  /** The contenders in the queue, in order. */
  contenders(): Promise<QueuedContender[]>;
}

/** The error of a call whose time is over. */
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

/** One object for all locks without options, since there may be very many. */
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
  // With `__READ__` on its node, a writer would let readers in beside itself.
  if (![DOWNGRADED, REVOKE].some((mark) => mark.equals(data))) return data;
  throw new InvalidOptionError(
    'data',
    data.toString(),
    'anything but __READ__ and __REVOKE__, which have a meaning for locks',
  );
}

function checkPatterns(value: unknown): readonly string[] {
  if (value === undefined) return [];
  // If the text ended with a digit, it would be unclear where the number begins.
  if (Array.isArray(value) && value.every((each) => typeof each === 'string' && /^[^/]*[^/\d]$/.test(each)))
    return [...value];
  throw new InvalidOptionError(
    'extraLockPatterns',
    value,
    "a list of texts that precede the number, such as '__lock__': not empty, without /, not ending with a digit",
  );
}

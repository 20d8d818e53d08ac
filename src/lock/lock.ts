import { InvalidOptionError } from '../errors.js';
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
  /** Called when there is somebody in the way, with how many have to go, and the name of the node that is waited for. */
  readonly onWaiting?: (place: QueuePosition) => void;
}

/** How to ask for a lock that somebody else has. */
export interface RevokeOptions {
  /** The name of the node to ask. @default the first in the queue */
  readonly node?: string;
  /** How long to wait until it is gone, in milliseconds. @default for ever */
  readonly timeoutMs?: number;
  /** Aborting it ends the wait; the request stays. */
  readonly signal?: AbortSignal;
}

/** How a lock's contenders stand in its queue. */
export interface LockOptions {
  /**
   * What a contender's node says, up to 16 KiB: for people who look at it. Neither `__READ__` nor `__REVOKE__`, by which a
   * writer goes on to read and a lock is asked for. @default nothing
   */
  readonly data?: string | Uint8Array;
  /** Who may touch the contenders' nodes, and the lock's own if that is missing. @default the session's `access` */
  readonly access?: Access;
  /**
   * What other clients write between a name of their own and the number, if their nodes are to stand in the queue too:
   * `['__lock__']` for kazoo's Lock. Curator's and go-zookeeper's do anyway. They count as wanting the lock alone.
   * @default []
   */
  readonly extraLockPatterns?: readonly string[];
  /**
   * Called, once for each time that the lock is held, when somebody asks for it, with `revoke` here or with Curator's
   * Revoker. Whether and when to release is the holder's business. @default nothing is done about it
   */
  readonly onRevoke?: (hold: LockHold) => void;
}

/** One that stands in the queue of a lock. */
export interface QueuedContender {
  /** What it made up for this place: a uuid, or what another client writes there. */
  readonly id: string;
  /** The name of its node. */
  readonly node: string;
  /** How many are ahead of it in the queue. */
  readonly position: number;
  /** Its node's number: a signed 32-bit counter that wraps round. Not a fencing token. */
  readonly sequence: number;
  /** What it has come for: `read` beside other readers, or to have the lock alone. */
  readonly purpose: Purpose;
}

/** What all locks have in common. */
export interface Lock {
  /** Where its queue is; for a MultiLock, of the lock that is taken last. */
  readonly path: string;
  /** Waits for it. */
  acquire(options?: AcquireOptions): Promise<LockHold>;
  /** Takes it if it is free; else `undefined`, with nothing left in the queue. */
  tryAcquire(): Promise<LockHold | undefined>;
  /** Does `work` while it is held, and gives it up when the work has settled. */
  using<T>(work: (hold: LockHold) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>;
  /** Who stands in its queue, first come first. */
  contenders(): Promise<QueuedContender[]>;
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

/** @internal Options that were checked, with their defaults. */
export interface ResolvedLockOptions {
  readonly data: Buffer | undefined;
  readonly access: Access | undefined;
  readonly extraLockPatterns: readonly string[];
  readonly onRevoke: ((hold: LockHold) => void) | undefined;
}

/** One for all locks without options: there may be very many. */
const DEFAULTS: ResolvedLockOptions = {
  data: undefined,
  access: undefined,
  extraLockPatterns: [],
  onRevoke: undefined,
};

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
  const data = Buffer.from(given); // A copy: the caller may change his.
  // Readers would be let in beside a writer whose node says that it only reads.
  if (![DOWNGRADED, REVOKE].some((sign) => sign.equals(data))) return data;
  throw new InvalidOptionError(
    'data',
    data.toString(),
    'anything but __READ__ and __REVOKE__, by which locks tell each other something',
  );
}

function checkPatterns(value: unknown): readonly string[] {
  if (value === undefined) return DEFAULTS.extraLockPatterns;
  // After a digit nobody could tell where the number begins.
  if (Array.isArray(value) && value.every((each) => typeof each === 'string' && /^[^/]*[^/\d]$/.test(each)))
    return [...value];
  throw new InvalidOptionError(
    'extraLockPatterns',
    value,
    "a list of what stands before the number, as '__lock__': not empty, without /, not ending with a digit",
  );
}

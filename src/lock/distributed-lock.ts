import { mark } from '../public-class/instance-brand.js';
import { EXCLUSIVE, type TurnRule } from '../queue/turn-rule.js';
import type { Session } from '../session/session.js';
import type { LockOptions } from './lock-interface.js';
import { QueueLock } from './queue-lock.js';

/**
 * A fair lock among all processes that use the same path. They hold it one after the other, in the order in which they asked.
 * Each holder has a higher token than the one before.
 *
 * Guaranteed: at the servers at most one node is first in the queue. Not guaranteed: that a holder whose process was paused notices in time
 * that its node is no longer the first. So check `hold.isHeld()` right before you act, and fence the protected resource with `hold.token`.
 *
 * Curator's InterProcessMutex and go-zookeeper's Lock may wait in the same queue.
 *
 * @example
 * ```ts
 * const lock = new DistributedLock(session, '/locks/report');
 * await lock.using(async (hold) => {
 *   hold.assertHeld();
 *   await writeReport({ token: hold.token, signal: hold.signal });
 * }, { timeoutMs: 5000 });
 * ```
 */
export class DistributedLock extends QueueLock {
  /** @throws InvalidOptionError if the path or an option is wrong */
  constructor(session: Session, path: string, options?: LockOptions) {
    super(session, path, options);
  }

  /** @internal */
  override turnRule(): TurnRule {
    return EXCLUSIVE;
  }
}

mark(DistributedLock, 'DistributedLock');

import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { mark } from '../public-class/instance-brand.js';
import { showAs } from '../public-class/shown-in-console.js';
import { EXCLUSIVE, type TurnRule } from '../queue/turn-rule.js';
import type { Session } from '../session/session.js';
import { GrantHold, type LockHold } from './lock-hold.js';
import type { LockOptions } from './lock-interface.js';
import { QueueLock } from './queue-lock.js';
import { DOWNGRADED, type ReentrantGrant } from './reentrant-grant.js';

/** Every contender ahead that isn't a reader must be gone, or be downgraded to a reader. */
const SHARED: TurnRule = {
  blocks: ({ purpose }) => purpose !== 'read',
  noLongerBlocks: (data) => data.equals(DOWNGRADED),
  capacity: 0,
};

class ReadLock extends QueueLock {
  constructor(session: Session, path: string, options: LockOptions | undefined, whole: ReadWriteLock) {
    super(session, path, options, { purpose: 'read', mode: 'shared', identity: whole });
  }

  override turnRule(): TurnRule {
    return SHARED;
  }
}

class WriteLock extends QueueLock {
  constructor(session: Session, path: string, options: LockOptions | undefined, whole: ReadWriteLock) {
    super(session, path, options, { purpose: 'write', identity: whole });
  }

  override turnRule(): TurnRule {
    return EXCLUSIVE;
  }

  protected override share(grant: ReentrantGrant): GrantHold {
    if (grant.isHeldExclusively || grant.state === 'lost') return super.share(grant); // Throws if it is lost.
    throw new InvalidStateError(
      `this work holds the read lock of ${this.path}, which can't be upgraded to a write lock: two readers that try would wait for each other forever. Release it first`,
    );
  }
}

/**
 * A lock that many contenders may hold at once to read, or a single one to write. It is fair: contenders hold it in the order in
 * which they joined. So readers that join after a writer wait for that writer, and no writer starves.
 *
 * Within the work of `writeLock.using`, `readLock` is held already. If you acquire a read hold there and release it after the
 * write hold, the lock goes on as a read lock (see `downgrade`). Within the work of `readLock.using`, a call that acquires
 * `writeLock` rejects with `InvalidStateError`: two readers that both want to write would wait for each other.
 *
 * Curator's InterProcessReadWriteLock may wait in the same queue. A DistributedLock at the same path counts as a writer here, but
 * Curator's read-write lock ignores it.
 *
 * @example
 * ```ts
 * const table = new ReadWriteLock(session, '/locks/table');
 * await table.readLock.using(() => readAll());
 * await table.writeLock.using((hold) => write({ token: hold.token }));
 * ```
 */
export class ReadWriteLock {
  /** The path of the node whose children are the queue. */
  readonly path: string;
  /** Held by any number of readers at once, while there is no writer. */
  readonly readLock: QueueLock;
  /** Held by one writer alone. */
  readonly writeLock: QueueLock;

  /** @throws InvalidOptionError if the path or an option is wrong */
  constructor(session: Session, path: string, options?: LockOptions) {
    this.readLock = new ReadLock(session, path, options, this);
    this.writeLock = new WriteLock(session, path, options, this);
    this.path = path;
  }

  /**
   * Turns a write lock into a read lock, with no writer in between. `hold` is released, and the returned hold goes on as a reader
   * with the same node and the same token. Readers that wait right behind it get in.
   *
   * @throws InvalidOptionError if `hold` isn't a hold of this write lock
   * @throws LockLostError if `hold` is no longer held
   */
  async downgrade(hold: LockHold): Promise<LockHold> {
    if (!(hold instanceof GrantHold && hold.mode === 'exclusive' && hold.grant.lock === this))
      throw new InvalidOptionError('hold', hold, `a hold of the write lock of ${this.path}`);
    hold.assertHeld();
    const reading = new GrantHold(hold.grant, 'shared');
    await hold.release();
    return reading;
  }
}

mark(ReadWriteLock, 'ReadWriteLock');
showAs(ReadWriteLock, ({ path }) => ({ path }));

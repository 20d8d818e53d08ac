import { BadVersionError, ListenerError, type LockLostError, NoNodeError } from '../errors.js';
import { ignore } from '../platform/async/promises.js';
import { runWithin, WorkContext, workContexts } from '../platform/async/work-context.js';
import type { Contender } from '../queue/contender.js';
import type { Session } from '../session/session.js';

/** How a lock is held: `exclusive` by one holder alone, or `shared` with other readers. */
export type Mode = 'exclusive' | 'shared';

/** The state of a grant: `held`, with the numbers of its holds; `released` with the last hold; or `lost` for all holds. */
type GrantState =
  | { readonly name: 'held'; readonly exclusive: number; readonly shared: number }
  | { readonly name: 'released' }
  | { readonly name: 'lost'; readonly reason: LockLostError };

/** The data of a node whose holder is asked to release the lock: the same as Curator's Revoker writes. */
export const REVOKE = Buffer.from('__REVOKE__');

/** The data of a writer's node when its holder has become a reader. */
export const DOWNGRADED = Buffer.from('__READ__');

/**
 * A contender whose turn has come, and the holds that share it. They belong to one piece of work and to the code that it calls.
 * The contender leaves the queue when the last hold has ended, or when the holds are lost.
 */
export class ReentrantGrant {
  readonly contender: Contender;
  readonly session: Session;
  /** The object for which `using` is reentrant. */
  readonly lock: object;
  #state: GrantState = { name: 'held', exclusive: 0, shared: 0 };
  #downgrading: Promise<void> | undefined;
  #onRevoke: (() => unknown) | undefined;

  /** @param onRevoke - called once, when another client asks for the lock, even if it asked before the turn came */
  constructor(contender: Contender, session: Session, lock: object, onRevoke?: () => unknown) {
    this.contender = contender;
    this.session = session;
    this.lock = lock;
    this.#onRevoke = onRevoke;
    contender.node.keepAlive();
    if (onRevoke !== undefined) this.#watchForRequests();
  }

  get state(): GrantState['name'] {
    return this.#state.name;
  }

  /** Whether one of its holds is exclusive. */
  get isHeldExclusively(): boolean {
    return this.#state.name === 'held' && this.#state.exclusive > 0;
  }

  /** Adds a hold. @throws LockLostError if the grant is lost */
  begin(mode: Mode): void {
    if (this.#state.name === 'lost') throw this.#state.reason;
    this.contender.node.lost.throwIfAborted();
    this.#count(mode, 1);
  }

  /** Removes a hold. Resolves when the servers know the outcome. Never rejects. */
  end(mode: Mode): Promise<void> {
    this.#count(mode, -1);
    if (this.#state.name !== 'held') return this.contender.leave();
    if (mode === 'exclusive' && this.#state.exclusive === 0) {
      this.#downgrading = this.#downgrade();
      this.#watchForRequests();
    }
    return this.#downgrading ?? Promise.resolve();
  }

  /** All holds are lost. The contender leaves at once, without waiting until each holder has noticed. Never rejects. */
  lose(reason: LockLostError): Promise<void> {
    if (this.#state.name === 'held') this.#state = { name: 'lost', reason };
    return this.contender.leave();
  }

  #watchForRequests(): void {
    this.contender.node.whenRead(({ data }) => {
      if (!data.equals(REVOKE)) return;
      // The request has overwritten the mark that lets readers in.
      if (this.#downgrading !== undefined) this.#downgrading = this.#downgrade();
      this.#notifyOfRequest();
    });
  }

  #notifyOfRequest(): void {
    const notify = this.#onRevoke ?? ignore;
    this.#onRevoke = undefined;
    // As with event listeners, the call isn't on the stack of the code that has read the node, and an error that it throws is reported.
    void Promise.resolve()
      .then(notify)
      .catch((cause: unknown) =>
        this.session.report(new ListenerError('onRevoke', cause), 'a listener failed'),
      );
  }

  #count(mode: Mode, by: 1 | -1): void {
    if (this.#state.name !== 'held') return;
    const exclusive = this.#state.exclusive + (mode === 'exclusive' ? by : 0);
    const shared = this.#state.shared + (mode === 'shared' ? by : 0);
    this.#state = exclusive + shared === 0 ? { name: 'released' } : { name: 'held', exclusive, shared };
  }

  /**
   * The remaining holds are all shared. Their node stays in the queue and gets a mark, so that the readers behind it get in. A
   * new node would be behind the writers that wait, and one of them would hold first.
   */
  async #downgrade(): Promise<void> {
    const { session } = this;
    try {
      while (!(await this.#markAsDowngraded()));
    } catch (error) {
      if (error instanceof NoNodeError || session.ended.aborted) return;
      session.report(
        error as Error,
        'a write lock could not be downgraded to a read lock: readers wait until it is released',
      );
    }
  }

  /** `false` if another client has written meanwhile, or if this write was carried out and its reply was lost. Then read again. */
  async #markAsDowngraded(): Promise<boolean> {
    const { session, contender } = this;
    const { path } = contender.node;
    const { data, stat } = await session.retryUntilAnswered(() => session.getData(path));
    if (data.equals(DOWNGRADED)) return true;
    // The request is handled before it is overwritten, because the watch would never show it.
    if (data.equals(REVOKE)) this.#notifyOfRequest();
    try {
      await session.retryUntilAnswered(() => session.setData(path, DOWNGRADED, stat.version));
      return true;
    } catch (error) {
      if (error instanceof BadVersionError) return false;
      throw error;
    }
  }
}

/** A piece of work that runs under locks, from when they are held until the work has settled. */
class LockedWork extends WorkContext {
  readonly grants: readonly ReentrantGrant[];

  constructor(grants: readonly ReentrantGrant[]) {
    super();
    this.grants = grants;
  }
}

/**
 * The grant by which the calling work holds `lock`: that of the innermost `using` around the caller whose work hasn't settled.
 * All code that this work begins belongs to it, even if the work doesn't await it.
 */
export function heldAround(lock: object): ReentrantGrant | undefined {
  for (const context of workContexts()) {
    if (!(context instanceof LockedWork)) continue;
    const held = context.grants.find((grant) => grant.lock === lock && grant.state !== 'released');
    if (held !== undefined) return held;
  }
  return undefined;
}

export async function runUnder<T>(
  grants: readonly ReentrantGrant[],
  work: () => T | PromiseLike<T>,
): Promise<T> {
  const locked = new LockedWork(grants);
  try {
    return await runWithin(locked, work);
  } finally {
    locked.finish();
  }
}

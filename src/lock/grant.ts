import { BadVersionError, ListenerError, type LockLostError, NoNodeError } from '../errors.js';
import { ignore } from '../platform/async/promises.js';
import type { Session } from '../session/session.js';
import type { Contender } from './queue/contender.js';

/** How a lock is held: by one holder alone, or shared with other readers. */
export type Mode = 'exclusive' | 'shared';

/** The state of a grant: `held`, with the number of holds; `released` by the last of them; or `lost` for all of them. */
type GrantState =
  | { readonly name: 'held'; readonly exclusive: number; readonly shared: number }
  | { readonly name: 'released' }
  | { readonly name: 'lost'; readonly reason: LockLostError };

/** What a node's data are when its holder is asked to release the lock: the same as Curator's Revoker writes. */
export const REVOKE = Buffer.from('__REVOKE__');

/** What a writer's node has as its data when its holder only reads any more. */
export const DOWNGRADED = Buffer.from('__READ__');

/**
 * A contender whose turn has come, and the holds that share it: those of one piece of work and of what it calls. The
 * contender leaves the queue when the last of the holds has ended, or when they are lost.
 */
export class LockGrant {
  readonly contender: Contender;
  readonly session: Session;
  /** What `using` is reentrant for. */
  readonly lock: object;
  #state: GrantState = { name: 'held', exclusive: 0, shared: 0 };
  #downgrading: Promise<void> | undefined;
  #onRevoke: (() => unknown) | undefined;

  /** @param onRevoke - called once, when another client asks for the lock, also if it asked before the turn came */
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

  /** All holds are lost: the contender leaves at once, and not only when each holder has noticed. Never rejects. */
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
    // As with event listeners: not on the stack of the code that has read the node, and what it throws is reported.
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
   * The holds that are left only read. Their node stays in the queue and is marked, so that the readers behind it are let
   * in. A new node could only be behind the writers that wait, and one of them would hold first.
   */
  async #downgrade(): Promise<void> {
    const { session } = this;
    try {
      while (!(await this.#markAsDowngraded()));
    } catch (error) {
      if (error instanceof NoNodeError || session.ended.aborted) return;
      session.report(error as Error, 'readers are kept waiting: a write lock could not be made a read lock');
    }
  }

  /** `false`: another client has written meanwhile, or this write was carried out and its reply lost; read again. */
  async #markAsDowngraded(): Promise<boolean> {
    const { session, contender } = this;
    const { path } = contender.node;
    const { data, stat } = await session.retryUntilAnswered(() => session.getData(path));
    if (data.equals(DOWNGRADED)) return true;
    // Handled before it is overwritten: the watch would never show it.
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

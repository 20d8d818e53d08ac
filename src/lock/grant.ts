import { BadVersionError, ListenerError, type LockLostError, NoNodeError } from '../errors.js';
import { ignore } from '../platform/async/promises.js';
import type { Session } from '../session/session.js';
import type { Contender } from './queue/contender.js';

/** How a place is held: alone, or beside others that only read. */
export type Mode = 'alone' | 'beside';

/** Where a place stands: `held` by one or more, `given-up` by the last of them, or `lost` for all of them. */
type PlaceState =
  | { readonly name: 'held'; readonly alone: number; readonly beside: number }
  | { readonly name: 'given-up' }
  | { readonly name: 'lost'; readonly reason: LockLostError };

/** The request on a contender's node to give the lock up: the one that Curator's Revoker writes. */
export const REVOKE = Buffer.from('__REVOKE__');

/** What the node of a writer says that only reads any more. */
export const DOWNGRADED = Buffer.from('__READ__');

/**
 * A place in the queue whose turn it is, and the holds that share it: those of one piece of work and of what it calls.
 * It is given up when the last of them has ended, or is lost.
 */
export class LockGrant {
  readonly contender: Contender;
  readonly session: Session;
  /** What `using` is reentrant for. */
  readonly lock: object;
  #state: PlaceState = { name: 'held', alone: 0, beside: 0 };
  #downgrading: Promise<void> | undefined;
  #onRevoke: (() => unknown) | undefined;

  /** @param onRevoke - called once, when somebody asks for the lock, also if that was before */
  constructor(contender: Contender, session: Session, lock: object, onRevoke?: () => unknown) {
    this.contender = contender;
    this.session = session;
    this.lock = lock;
    this.#onRevoke = onRevoke;
    contender.node.keepAlive();
    if (onRevoke !== undefined) this.#heedRequests();
  }

  /** Whether it was given up by all who held by it; not when it was lost. */
  get isGivenUp(): boolean {
    return this.#state.name === 'given-up';
  }

  /** Whether it was lost by all who held by it. */
  get isLost(): boolean {
    return this.#state.name === 'lost';
  }

  /** Whether somebody holds by it alone. */
  get isHeldAlone(): boolean {
    return this.#state.name === 'held' && this.#state.alone > 0;
  }

  /** One hold more. @throws LockLostError if the place is lost */
  begin(mode: Mode): void {
    if (this.#state.name === 'lost') throw this.#state.reason;
    this.contender.node.lost.throwIfAborted();
    this.#count(mode, 1);
  }

  /** One hold less. Resolves when the servers know what comes of it. Never rejects. */
  end(mode: Mode): Promise<void> {
    this.#count(mode, -1);
    if (this.#state.name !== 'held') return this.contender.leave();
    if (mode === 'alone' && this.#state.alone === 0) {
      this.#downgrading = this.#downgrade();
      this.#heedRequests();
    }
    return this.#downgrading ?? Promise.resolve();
  }

  /** It is lost for all who hold by it: those behind it needn't wait until each of them has noticed. Never rejects. */
  lose(reason: LockLostError): Promise<void> {
    if (this.#state.name === 'held') this.#state = { name: 'lost', reason };
    return this.contender.leave();
  }

  #heedRequests(): void {
    this.contender.node.whenRead(({ data }) => {
      if (data.equals(REVOKE)) this.#heedRevocation();
    });
  }

  #heedRevocation(): void {
    // The request has taken the place of what let readers in.
    if (this.#downgrading !== undefined) this.#downgrading = this.#downgrade();
    this.#tellOfRevocation();
  }

  #tellOfRevocation(): void {
    const tell = this.#onRevoke ?? ignore;
    this.#onRevoke = undefined;
    // As for a listener: not on the stack of whoever has read the node, and what it throws is reported.
    void Promise.resolve()
      .then(tell)
      .catch((cause: unknown) =>
        this.session.report(new ListenerError('onRevoke', cause), 'a listener failed'),
      );
  }

  #count(mode: Mode, by: 1 | -1): void {
    if (this.#state.name !== 'held') return;
    const alone = this.#state.alone + (mode === 'alone' ? by : 0);
    const beside = this.#state.beside + (mode === 'beside' ? by : 0);
    this.#state = alone + beside === 0 ? { name: 'given-up' } : { name: 'held', alone, beside };
  }

  /**
   * What is left only reads: its place stays where it is, and its node says so, for readers behind it. A new place could
   * only be behind the writers that wait, and the lock would be theirs first.
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

  /** `false`: somebody has written there meanwhile, or this has and the reply was lost; look again. */
  async #markAsDowngraded(): Promise<boolean> {
    const { session, contender } = this;
    const { path } = contender.node;
    const { data, stat } = await session.retryUntilAnswered(() => session.getData(path));
    if (data.equals(DOWNGRADED)) return true;
    // Never written over before it was read: nobody would heed it.
    if (data.equals(REVOKE)) this.#tellOfRevocation();
    try {
      await session.retryUntilAnswered(() => session.setData(path, DOWNGRADED, stat.version));
      return true;
    } catch (error) {
      if (error instanceof BadVersionError) return false;
      throw error;
    }
  }
}

import { NoNodeError, UnprotectedPathError } from '../errors.js';
import { warnOfSetup } from '../logger.js';
import { isOpenToAll } from './access.js';
import type { Session } from './session.js';

// Enough for the locks that a service uses, not for those that it makes up by the thousand.
const MOST_KNOWN = 1000;

/** What to do about a path: see that it is protected, say once that nothing is, or let it pass. */
export type Watchfulness = 'check' | 'warn' | 'trust';

/**
 * Looks after what contenders stand on: ZooKeeper asks a node's *parent* whether it may be deleted, so nodes that only
 * their creator may touch are anybody's below a parent that everybody may delete from.
 */
export class PathGuard {
  readonly #session: Session;
  readonly #warns: boolean;
  #warned = false;
  /** Paths that were seen to be, when they are checked at all. */
  readonly #protected: Set<string> | undefined;

  constructor(session: Session, watchfulness: Watchfulness) {
    this.#session = session;
    this.#warns = watchfulness === 'warn';
    this.#protected = watchfulness === 'check' ? new Set() : undefined;
  }

  /**
   * Checks the path of a queue, if it exists: asks the servers the first time. There is nothing to wait for if it gives
   * no promise, as it mostly does.
   *
   * @throws UnprotectedPathError if everybody may write it or delete from it
   */
  check(path: string): Promise<void> | undefined {
    if (this.#warns) this.#warn(path);
    if (this.#protected === undefined || this.#protected.has(path)) return undefined;
    return this.#ask(path, this.#protected);
  }

  async #ask(path: string, known: Set<string>): Promise<void> {
    try {
      const access = await this.#session.untilAnswered(() => this.#session.getAcl(path));
      if (isOpenToAll(access)) throw new UnprotectedPathError(path);
    } catch (error) {
      if (error instanceof NoNodeError) return; // To be created, for its creator only.
      throw error;
    }
    if (known.size === MOST_KNOWN) known.clear();
    known.add(path);
  }

  /** The path was gone: whoever creates it again may let everybody in. */
  forget(path: string): void {
    this.#protected?.delete(path);
  }

  #warn(path: string): void {
    if (this.#warned) return;
    this.#warned = true;
    warnOfSetup(
      this.#session.logger,
      { path },
      'whoever reaches the servers may delete the nodes of locks and elections: use auth or TLS with access control',
    );
  }
}

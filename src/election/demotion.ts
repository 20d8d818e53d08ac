import { type DemotionReason, SessionExpiredError } from '../errors.js';
import { deferred, whenSettled } from '../platform/async/promises.js';
import type { Session } from '../session/session.js';

/**
 * The word on a term whose node is gone, from when that was seen until it is known why.
 *
 * A server that ends a session deletes its nodes first. Whether the session is told of that before its connection ends is a
 * race, which goes either way with ZooKeeper 3.8 and 3.9. So a deletion may be somebody's, or the first sign of the
 * session's end. An answer over the same connection shows that the session lives: events and answers keep their order.
 * The term itself has ended by then, as soon as its node was seen to be gone.
 */
export class Demotion {
  readonly #session: Session;
  readonly #told = deferred();
  #tell: ((reason: DemotionReason) => void) | undefined;

  /**
   * @param path - the node that is gone
   * @param tell - called once: when it is known whether the session lives, or after a lease with what is known then
   */
  constructor(session: Session, path: string, tell: (reason: DemotionReason) => void) {
    this.#session = session;
    this.#tell = tell;
    const asked = session.retryUntilAnswered(() => session.exists(path)); // A refusal is an answer too.
    whenSettled(session.clock, asked, session.leaseMs, () => this.conclude());
  }

  /** Resolves when it was told. */
  get told(): Promise<void> {
    return this.#told.promise;
  }

  /** Tells what is known now, unless it was told before. */
  conclude(): void {
    const tell = this.#tell;
    this.#tell = undefined;
    tell?.(this.#session.ended.reason instanceof SessionExpiredError ? 'session-expired' : 'node-deleted');
    this.#told.resolve();
  }
}

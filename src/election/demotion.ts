import { type DemotionReason, SessionExpiredError } from '../errors.js';
import { deferred, whenSettled } from '../platform/async/promises.js';
import type { Session } from '../session/session.js';

/**
 * Finds out why a leader's node is gone; the term has ended by then, as soon as that was seen. A server that ends a session
 * deletes its nodes first. Whether the session is notified of that before its connection ends is a race, which goes either
 * way with ZooKeeper 3.8 and 3.9. So a deletion may be another client's, or the first sign of the session's end. An answer
 * over the same connection shows that the session lives: events and answers keep their order.
 */
export class Demotion {
  readonly #session: Session;
  readonly #concluded = deferred();
  #announce: ((reason: DemotionReason) => void) | undefined;

  /** @param announce - called once: when it is known whether the session lives, or after a lease with what is known then */
  constructor(session: Session, path: string, announce: (reason: DemotionReason) => void) {
    this.#session = session;
    this.#announce = announce;
    const asked = session.retryUntilAnswered(() => session.exists(path)); // A refusal is an answer too.
    whenSettled(session.clock, asked, session.leaseMs, () => this.conclude());
  }

  get concluded(): Promise<void> {
    return this.#concluded.promise;
  }

  /** Announces what is known now, unless a reason was announced before. */
  conclude(): void {
    const announce = this.#announce;
    this.#announce = undefined;
    announce?.(
      this.#session.ended.reason instanceof SessionExpiredError ? 'session-expired' : 'node-deleted',
    );
    this.#concluded.resolve();
  }
}

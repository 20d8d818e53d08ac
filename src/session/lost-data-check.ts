import { EnsembleResetError } from '../errors.js';
import { ignore } from '../platform/async/promises.js';
import type { Session } from './session.js';

/**
 * Checks whether the ensemble still has the transactions that earlier sessions of one owner have seen. The creation of a session
 * is a transaction. So a server that serves a new session has a newer zxid than any earlier session of the same ensemble has
 * seen. A lower zxid shows that the ensemble's data was lost or restored.
 */
export class EnsembleHistory {
  #former: Session | undefined;
  #seenZxid = 0n; // The newest transaction that any session before the last one has seen; 0 after a reset.

  /**
   * Compares a new session with the earlier ones, and remembers it. The first session costs no request, later ones mostly one
   * read. Never rejects.
   * @returns the error to report, once for each reset; `undefined` if nothing was lost, or if no server has answered
   */
  async follow(session: Session): Promise<EnsembleResetError | undefined> {
    const former = this.#former?.newestZxid ?? 0n;
    const seen = former > this.#seenZxid ? former : this.#seenZxid;
    this.#former = session;
    this.#seenZxid = seen;
    if (seen === 0n) return undefined;
    if (session.newestZxid === 0n) await session.exists('/').catch(ignore);
    // If sessions are local to a server, that server may be behind. A commit brings it up to date.
    if (isBehind(session, seen)) await session.commit([{ kind: 'check', path: '/' }]).catch(ignore);
    if (!isBehind(session, seen)) return undefined;
    this.#seenZxid = 0n;
    return new EnsembleResetError(seen, session.newestZxid);
  }
}

function isBehind({ newestZxid }: Session, seen: bigint): boolean {
  return newestZxid > 0n && newestZxid < seen;
}

import type { Stat } from '../../session/protocol/records.js';

/** A term that ended without a release, as the candidate saw it that is about to begin the next one. */
export interface FailedTerm {
  /** The transaction that began it. */
  readonly zxid: bigint;
  /** How many proofs its leader has sent: the version of its heartbeat node. `undefined` if the candidate has seen none. */
  readonly proofs: number | undefined;
}

/** Four proofs are a lease. A leader that sent fewer than this has not kept its term: with default options it led for less than 20 s. */
const FEW_PROOFS = 40;

/**
 * Whether a candidate's priority doesn't count at this change of the leader. A process that ends soon after it was elected, and is started
 * again at once, would otherwise be elected again and again, for its priority. Under which id or node it comes back doesn't matter: it joins
 * after its term has begun. A candidate that was there before keeps its priority, and so does each one when a term has lasted.
 *
 * README.md of the election says why that is safe, and that no candidate waits for it.
 */
export function isPassedOver({ czxid }: Pick<Stat, 'czxid'>, { zxid, proofs }: FailedTerm): boolean {
  return proofs !== undefined && proofs < FEW_PROOFS && czxid > zxid;
}

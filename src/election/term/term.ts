import type { HeldTerm } from '../../lease/held-term.js';

/** A leader's term in an election. Ask `isHeld()` right before each action. {@link HeldTerm} says what is guaranteed, and what isn't. */
export type Term = HeldTerm;

/** How a term came to its candidate, by the record. Instants are by the session's clock. */
export type TermOrigin =
  /** The record was vacant: the former leader's release found no candidate, or there was no term before. */
  | { readonly kind: 'vacant' }
  /** The former leader released its term to this candidate, or its guardian did. `sinceMs`: when this candidate noticed that it may lead. */
  | { readonly kind: 'handover'; readonly sinceMs: number }
  /**
   * The former leader ended without a release. `sinceMs`: when this candidate saw that the leader's node was gone, or, if the leader was
   * silent, when it first saw the effect of the last heartbeat. If another candidate passed the term on: when this one noticed that.
   */
  | { readonly kind: 'failover'; readonly sinceMs: number };

/**
 * A term that this candidate has claimed, or that was handed over to it. The servers let no other candidate take it
 * while its node is there.
 */
export interface Claim {
  readonly term: number;
  /**
   * The zxid of the transaction that wrote the record: the candidate's claim or its predecessor's release. It rises
   * from term to term, over the whole life of the ensemble.
   */
  readonly token: bigint;
  /** The path of the record. */
  readonly record: string;
  /** The record's version after that transaction. A clean release expects it. */
  readonly version: number;
  /** The path of the leader's node. */
  readonly node: string;
  /**
   * The number of the session's connection over which the claim was answered, or over which a read has shown it; `undefined` if unknown.
   */
  readonly connection: number | undefined;
  /** Given for terms of elections. */
  readonly origin?: TermOrigin;
}

/** The part of a claim that the leader, or the guardian of its process, needs to give the term back. */
export type ReleasableClaim = Omit<Claim, 'token' | 'connection' | 'origin'>;

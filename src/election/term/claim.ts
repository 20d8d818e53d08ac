/** How a term came to its candidate. Instants are by the session's clock. */
export type TermOrigin =
  /** The record was vacant: the former leader's release found no candidate, or there was none before. */
  | { readonly kind: 'vacant' }
  /**
   * The record was written for this candidate: by the former leader's release or its guardian, or by a candidate that preferred it. Or
   * by this candidate's own claim, whose reply was lost. `sinceMs`: when it noticed that it may lead.
   */
  | { readonly kind: 'handover'; readonly sinceMs: number }
  /**
   * The former leader ended without a release. `sinceMs`: when this candidate saw that the leader's node was gone; or, of a leader that
   * is silent, when it saw the last heartbeat.
   */
  | { readonly kind: 'failover'; readonly sinceMs: number };

/** A term that was claimed, or handed over: it is this candidate's, and the servers let no other one take it while its node is there. */
export interface Claim {
  readonly term: number;
  /** Whose term it is, of an election with several seats; else 0. */
  readonly seat: number;
  /** The zxid of the transaction that wrote the record, the candidate's claim or its predecessor's release: rises from term to term, over the whole life of the ensemble. */
  readonly token: bigint;
  /** The path of the record. */
  readonly record: string;
  /** The record's version after that: what a clean release expects. */
  readonly version: number;
  /** The path of the leader's node. */
  readonly node: string;
  /** The number of the session's connection over which the claim was answered, or a read has shown it, if that is known. */
  readonly connection: number | undefined;
  /** Known of the terms of elections. */
  readonly origin?: TermOrigin;
}

/** What of a claim it takes to give the term back, for the leader or for the guardian of its process. */
export type ReleasableClaim = Omit<Claim, 'seat' | 'token' | 'connection' | 'origin'>;

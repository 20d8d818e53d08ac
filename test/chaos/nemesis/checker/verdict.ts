import type { Entry } from '../history.js';

/** Something that must never happen. */
export interface Violation {
  readonly kind: ViolationKind;
  readonly what: string;
}

export type ViolationKind =
  | 'two leaders at once'
  | 'a token that went back'
  | 'a term given twice'
  | 'held again'
  | 'a term lost in a stall'
  | 'not demoted once'
  | 'joined again without clean-up'
  | 'a lower token was taken'
  | 'a lost write'
  | 'a doubled write'
  | 'a write out of place'
  | 'no leader within the bound'
  | 'an orphan'
  | 'a process that did not stop'
  | 'a failure of the run'
  | 'an incomplete history';

/** Checks one property of a history, entry by entry, in the order in which they were written. */
export interface Check<Figures> {
  see(entry: Entry): void;
  /** Call it once, after the last entry. */
  conclude(): { readonly violations: readonly Violation[]; readonly figures: Figures };
}

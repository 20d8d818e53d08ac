import type { HeldTerm } from '../../lease/held-term.js';

/** A leader's term in an election. Ask `isHeld()` right before each action. {@link HeldTerm} says what is guaranteed, and what isn't. */
export interface Term extends HeldTerm {
  /** The seat that is led, from 0. Each seat has its own terms. Always 0 in an election with one leader. */
  readonly seat: number;
}

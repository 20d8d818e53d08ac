import type { Entry } from '../history.js';
import type { Check, Violation } from './verdict.js';

interface Term {
  readonly who: string;
  readonly journal: string;
  readonly number: number;
  readonly token: bigint;
  reasons: string[];
}

export interface TermFigures {
  /** By election. */
  readonly terms: ReadonlyMap<string, number>;
  /** How many ended for which reason; those whose process was killed ended without one. */
  readonly reasons: ReadonlyMap<string, number>;
}

/** What the processes say of their terms: numbers and tokens rise together, each term ends once, the hook comes in between. */
export class TermCheck implements Check<TermFigures> {
  readonly #terms: Term[] = [];
  readonly #open = new Map<string, Term>();
  readonly #orderly = new Set<string>();
  /** The supervisors whose session was lost under a leader, and whose hook hasn't been called yet. */
  readonly #unclean = new Set<string>();
  readonly #violations: Violation[] = [];

  see(entry: Entry): void {
    switch (entry.kind) {
      case 'elected': {
        const { who, journal, term: number, token } = entry;
        const place = `${journal} of ${who}`;
        if (this.#unclean.has(place))
          this.#violations.push({ kind: 'stood again without clean-up', what: `${place}, term ${number}` });
        const term = { who, journal, number, token: BigInt(token), reasons: [] };
        this.#terms.push(term);
        this.#open.set(`${place} ${token}`, term);
        return;
      }
      case 'demoted': {
        const place = `${entry.journal} of ${entry.who}`;
        const term = this.#open.get(`${place} ${entry.token}`);
        if (term === undefined)
          this.#violations.push({ kind: 'not demoted once', what: `${place}: ${entry.token} was never led` });
        term?.reasons.push(entry.reason);
        if (entry.reason === 'session-expired') this.#unclean.add(place);
        return;
      }
      case 'cleaned':
        this.#unclean.delete(`${entry.journal} of ${entry.who}`);
        return;
      case 'process ended':
        if (entry.orderly) this.#orderly.add(entry.who);
    }
  }

  conclude() {
    const violations = [...this.#violations, ...this.#ends(), ...this.#order()];
    const terms = new Map<string, number>();
    const reasons = new Map<string, number>();
    for (const { journal, reasons: own } of this.#terms) {
      count(terms, journal);
      count(reasons, own[0] ?? 'the process was killed');
    }
    return { violations, figures: { terms, reasons } };
  }

  #ends(): Violation[] {
    return this.#terms
      .filter(({ who, reasons }) => reasons.length > 1 || (reasons.length === 0 && this.#orderly.has(who)))
      .map(({ who, journal, number, reasons }) => ({
        kind: 'not demoted once',
        what: `term ${number} of ${journal}, ${who}: ${reasons.join(', ') || 'never'}`,
      }));
  }

  /** By token, that is in the order in which ZooKeeper gave them, the numbers rise. */
  #order(): Violation[] {
    const violations: Violation[] = [];
    const newest = new Map<string, Term>();
    for (const term of this.#terms.toSorted((a, b) => (a.token < b.token ? -1 : 1))) {
      const before = newest.get(term.journal);
      if (before !== undefined && (term.token === before.token || term.number <= before.number)) {
        const name = (each: Term) => `term ${each.number} of ${each.who} (${each.token})`;
        violations.push({
          kind: 'a term given twice',
          what: `${term.journal}: ${name(before)}, ${name(term)}`,
        });
      }
      newest.set(term.journal, term);
    }
    return violations;
  }
}

export function count<T>(counts: Map<T, number>, what: T): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

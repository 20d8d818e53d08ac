import type { Demoted, Elected, Entry } from '../history.js';
import type { RecordVersions } from './record-versions.js';
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
  /** How many terms ended for which reason. Terms whose process was killed have none. */
  readonly reasons: ReadonlyMap<string, number>;
  /** Terms that came again since ZooKeeper took back what it had committed: see {@link RecordVersions}. */
  readonly takenBack: readonly string[];
}

/**
 * Checks what the processes report about their terms: numbers and tokens rise together, each term ends once, and the hook comes in between.
 * A number that comes again after ZooKeeper took the former term back is counted, and is no violation by Conclave.
 */
export class TermCheck implements Check<TermFigures> {
  readonly #terms: Term[] = [];
  readonly #open = new Map<string, Term>();
  readonly #orderly = new Set<string>();
  /** The supervisors whose session was lost under a leader, and whose hook hasn't been called yet. */
  readonly #unclean = new Set<string>();
  readonly #violations: Violation[] = [];
  readonly #versions: RecordVersions;

  constructor(versions: RecordVersions) {
    this.#versions = versions;
  }

  see(entry: Entry): void {
    if (entry.kind === 'elected') this.#begin(entry);
    if (entry.kind === 'demoted') this.#end(entry);
    if (entry.kind === 'cleaned') this.#unclean.delete(placeOf(entry));
    if (entry.kind === 'process ended' && entry.orderly) this.#orderly.add(entry.who);
  }

  #begin(entry: Elected): void {
    const { who, journal, term: number, token } = entry;
    const place = placeOf(entry);
    if (this.#unclean.has(place)) this.#violate('joined again without clean-up', `${place}, term ${number}`);
    const term = { who, journal, number, token: BigInt(token), reasons: [] };
    this.#terms.push(term);
    this.#open.set(`${place} ${token}`, term);
  }

  #end(entry: Demoted): void {
    const place = placeOf(entry);
    const term = this.#open.get(`${place} ${entry.token}`);
    if (term === undefined) this.#violate('not demoted once', `${place}: ${entry.token} was never led`);
    term?.reasons.push(entry.reason);
    if (entry.reason === 'session-expired') this.#unclean.add(place);
  }

  #violate(kind: Violation['kind'], what: string): void {
    this.#violations.push({ kind, what });
  }

  conclude() {
    const order = this.#order();
    const violations = [...this.#violations, ...this.#ends(), ...order.violations];
    const terms = new Map<string, number>();
    const reasons = new Map<string, number>();
    for (const { journal, reasons: own } of this.#terms) {
      count(terms, journal);
      count(reasons, own[0] ?? 'the process was killed');
    }
    return { violations, figures: { terms, reasons, takenBack: order.takenBack } };
  }

  #ends(): Violation[] {
    return this.#terms
      .filter(({ who, reasons }) => reasons.length > 1 || (reasons.length === 0 && this.#orderly.has(who)))
      .map(({ who, journal, number, reasons }) => ({
        kind: 'not demoted once',
        what: `term ${number} of ${journal}, ${who}: ${reasons.join(', ') || 'never'}`,
      }));
  }

  /** Checks that the numbers rise with the tokens, that is in the order in which ZooKeeper gave them. */
  #order() {
    const violations: Violation[] = [];
    const takenBack: string[] = [];
    const newest = new Map<string, Term>();
    for (const term of this.#terms.toSorted((a, b) => (a.token < b.token ? -1 : 1))) {
      const before = newest.get(term.journal);
      if (before !== undefined && (term.token === before.token || term.number <= before.number)) {
        const name = (each: Term) => `term ${each.number} of ${each.who} (${each.token})`;
        const what = `${term.journal}: ${name(before)}, ${name(term)}`;
        if (this.#versions.tookBack(before)) takenBack.push(what);
        else violations.push({ kind: 'a term given twice', what });
      }
      newest.set(term.journal, term);
    }
    return { violations, takenBack };
  }
}

function placeOf({ journal, who }: { readonly journal: string; readonly who: string }): string {
  return `${journal} of ${who}`;
}

export function count<T>(counts: Map<T, number>, what: T): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

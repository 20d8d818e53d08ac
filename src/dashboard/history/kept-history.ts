import type { Past } from '../../overview/model/overview-model.js';
import type { MoveView, TermView, TransitionView } from '../../overview/model/views.js';
import { type HistoryRow, parseRow } from './history-file.js';

/** Of each election and each group, and of the transitions. */
const MOST = { terms: 100, moves: 100, transitions: 200 } as const;

/** The part of a history that is worth keeping: the newest terms, moves and transitions. It holds at most twice as many of each. */
export class KeptHistory {
  #since: number | undefined;
  readonly #terms = new Map<string, Map<string, TermView>>();
  /** The oldest first. */
  readonly #moves = new Map<string, MoveView[]>();
  /** The oldest first. */
  #transitions: TransitionView[] = [];

  /** Reads the lines of a file. Those that can't be read are left out. */
  static of(text: string): KeptHistory {
    const kept = new KeptHistory();
    for (const line of text.split('\n')) {
      const row = parseRow(line);
      if (row !== undefined) kept.take(row);
    }
    return kept;
  }

  /** From when on the history was written; `undefined`: it is empty. */
  get since(): number | undefined {
    return this.#since;
  }

  get past(): Past {
    return {
      terms: new Map([...this.#terms].map(([path, terms]) => [path, newestOf(terms)])),
      moves: new Map([...this.#moves].map(([path, moves]) => [path, moves.slice(-MOST.moves).reverse()])),
      transitions: this.#transitions.slice(-MOST.transitions).reverse(),
    };
  }

  /** Everything that is kept, in the order in which it is to be written. */
  rows(): HistoryRow[] {
    const { terms, moves, transitions } = this.past;
    return [
      ...(this.#since === undefined ? [] : [{ kind: 'since' as const, at: this.#since }]),
      ...[...terms].flatMap(([path, each]) => each.map((term) => ({ kind: 'term' as const, path, term }))),
      ...[...moves].flatMap(([path, each]) =>
        each.toReversed().map((move) => ({ kind: 'move' as const, path, move })),
      ),
      ...transitions.toReversed().map((transition) => ({ kind: 'transition' as const, transition })),
    ];
  }

  /** Returns whether the row says anything new. */
  take(row: HistoryRow): boolean {
    switch (row.kind) {
      case 'since':
        this.#since ??= row.at;
        return true;
      case 'term':
        return this.#takeTerm(row.path, row.term);
      case 'move': {
        const moves = this.#moves.get(row.path) ?? [];
        moves.push(row.move);
        this.#moves.set(row.path, newestHalf(moves, MOST.moves));
        return true;
      }
      case 'transition':
        this.#transitions.push(row.transition);
        this.#transitions = newestHalf(this.#transitions, MOST.transitions);
        return true;
    }
  }

  #takeTerm(path: string, term: TermView): boolean {
    const terms = this.#terms.get(path) ?? new Map<string, TermView>();
    const key = `${term.term} ${term.from}`; // One of an election, also if that was deleted and made anew.
    const known = terms.get(key);
    if (known === term || (known !== undefined && JSON.stringify(known) === JSON.stringify(term)))
      return false;
    terms.set(key, term);
    this.#terms.set(path, terms);
    const newest = terms.size > 2 * MOST.terms ? new Set(newestOf(terms)) : undefined;
    if (newest !== undefined) for (const [each, value] of terms) if (!newest.has(value)) terms.delete(each);
    return true;
  }
}

function newestOf(terms: ReadonlyMap<string, TermView>): TermView[] {
  return [...terms.values()].sort((one, other) => one.from - other.from).slice(-MOST.terms);
}

/** Rarely shortened, and then by half. */
function newestHalf<T>(all: T[], most: number): T[] {
  return all.length > 2 * most ? all.slice(-most) : all;
}

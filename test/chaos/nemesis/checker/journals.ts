import type { Entry, Hand, SinkName, Taken } from '../history.js';
import type { Check, Violation } from './verdict.js';

/** The outcomes of the writes to one sink. */
export interface SinkFigures {
  readonly taken: number;
  readonly refused: number;
  /** Lost: the writer was told that the write was taken, but at the end another write is in its place. */
  readonly lost: number;
  /** Writes that are there twice. */
  readonly doubled: number;
  /** Taken with a token lower than one before. */
  readonly outOfTurn: number;
}

export type JournalFigures = Readonly<Record<SinkName, SinkFigures>>;

/** One journal of one sink, rebuilt from the writes that the sink reported as taken. Each hand has pages of its own, behind one fence. */
class Pages {
  readonly #name: string;
  readonly #writes: Record<Hand, string[]> = { main: [], thread: [] };
  readonly #acknowledged = new Set<string>();
  #highest = -1n;
  taken = 0;
  refused = 0;
  readonly violations: Violation[] = [];
  outOfTurn = 0;

  constructor(name: string) {
    this.#name = name;
  }

  take({ hand, position, write, token }: Taken): void {
    this.taken++;
    const number = BigInt(token);
    if (number < this.#highest) {
      this.outOfTurn++;
      this.#violate('a lower token was taken', `${write} with ${token} after ${this.#highest}`);
    }
    if (number > this.#highest) this.#highest = number;
    const writes = this.#writes[hand];
    if (position !== writes.length)
      this.#violate('a write out of place', `${write} at ${position}, where ${writes.length} was next`);
    writes[position] = write;
  }

  acknowledge(write: string): void {
    this.#acknowledged.add(write);
  }

  conclude(): SinkFigures {
    const seen = new Set<string>();
    let doubled = 0;
    for (const write of [...this.#writes.main, ...this.#writes.thread]) {
      if (write === undefined) continue; // A gap in the journal.
      if (seen.has(write)) doubled++;
      if (seen.has(write)) this.#violate('a doubled write', write);
      seen.add(write);
    }
    const lost = [...this.#acknowledged].filter((write) => !seen.has(write));
    for (const write of lost) this.#violate('a lost write', write);
    const { taken, refused, outOfTurn } = this;
    return { taken, refused, lost: lost.length, doubled, outOfTurn };
  }

  #violate(kind: Violation['kind'], what: string): void {
    this.violations.push({ kind, what: `${this.#name}: ${what}` });
  }
}

/**
 * A fenced journal has every write whose writer was told that it was taken, once, in the order of the tokens. Damage to a
 * journal without a fence is only counted: a process that is stopped between its question and its act damages it under
 * any rules.
 */
export class JournalCheck implements Check<JournalFigures> {
  readonly #pages: Record<SinkName, Map<string, Pages>> = { fenced: new Map(), open: new Map() };

  see(entry: Entry): void {
    if (entry.kind === 'taken') this.#pagesOf(entry).take(entry);
    else if (entry.kind === 'refused') this.#pagesOf(entry).refused++;
    else if (entry.kind === 'answer' && entry.taken) this.#pagesOf(entry).acknowledge(entry.write);
  }

  conclude() {
    const figures = { fenced: sum(this.#pages.fenced), open: sum(this.#pages.open) };
    const violations = [...this.#pages.fenced.values()].flatMap((pages) => pages.violations);
    return { violations, figures };
  }

  #pagesOf({ sink, journal }: { sink: SinkName; journal: string }): Pages {
    const known = this.#pages[sink].get(journal) ?? new Pages(journal);
    this.#pages[sink].set(journal, known);
    return known;
  }
}

function sum(pages: ReadonlyMap<string, Pages>): SinkFigures {
  const all = [...pages.values()].map((each) => each.conclude());
  const total = (name: keyof SinkFigures) => all.reduce((total, each) => total + each[name], 0);
  return {
    taken: total('taken'),
    refused: total('refused'),
    lost: total('lost'),
    doubled: total('doubled'),
    outOfTurn: total('outOfTurn'),
  };
}

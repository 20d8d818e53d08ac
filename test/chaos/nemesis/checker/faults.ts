import type { Entry, Micros } from '../history.js';
import { count } from './terms.js';
import type { Check, Violation } from './verdict.js';

/** From when to when a fault lasted. */
export interface FaultPeriod {
  readonly name: string;
  readonly from: Micros;
  to: Micros;
}

/** When all faults of a storm had ended. */
export interface Calm {
  readonly storm: number;
  readonly from: Micros;
}

export interface FaultFigures {
  /** How often each fault came. */
  readonly counts: ReadonlyMap<string, number>;
  readonly effects: ReadonlyMap<string, number>;
  readonly passedOver: ReadonlyMap<string, number>;
  readonly wishes: ReadonlyMap<string, number>;
  readonly storms: number;
  /** The times with a fault; they may overlap. */
  readonly periods: readonly FaultPeriod[];
  readonly calms: readonly Calm[];
  /** When the servers were found to disagree, and about which nodes. */
  readonly disagreements: readonly Disagreement[];
  /** When it began, and when it ended. */
  readonly from: Micros;
  readonly to: Micros;
}

/** A fault of ZooKeeper's own. */
export interface Disagreement {
  readonly at: Micros;
  readonly what: string;
}

/** Which faults came and when, the calms between the storms, and the run's own notes. */
export class FaultCheck implements Check<FaultFigures> {
  readonly #counts = new Map<string, number>();
  readonly #effects = new Map<string, number>();
  readonly #passedOver = new Map<string, number>();
  readonly #wishes = new Map<string, number>();
  readonly #periods = new Map<number, FaultPeriod>();
  readonly #calms: Calm[] = [];
  readonly #disagreements: Disagreement[] = [];
  readonly #violations: Violation[] = [];
  #storms = 0;
  #began: Micros | undefined;
  #latest: Micros = 0;
  #isOver = false;

  see(entry: Entry): void {
    this.#began ??= entry.at;
    this.#latest = Math.max(this.#latest, entry.at);
    this.#seePhase(entry);
    this.#seeFault(entry);
    if (entry.kind === 'left behind') this.#violate('an orphan', entry.path);
    if (entry.kind === 'stuck') this.#violate('a process that did not stop', entry.who);
    if (entry.kind === 'failure') this.#violate('a failure of the run', entry.what);
    if (entry.kind === 'over') this.#isOver = true;
  }

  #seePhase(entry: Entry): void {
    if (entry.kind === 'storm') this.#storms++;
    if (entry.kind === 'calm') this.#calms.push({ storm: entry.storm, from: entry.at });
    if (entry.kind === 'servers disagree') this.#disagreements.push({ at: entry.at, what: entry.what });
    if (entry.kind === 'wish') count(this.#wishes, entry.what);
  }

  #seeFault(entry: Entry): void {
    if (entry.kind === 'fault') {
      count(this.#counts, entry.name);
      this.#periods.set(entry.fault, { name: entry.name, from: entry.at, to: Number.POSITIVE_INFINITY });
    }
    if (entry.kind === 'mended') {
      const period = this.#periods.get(entry.fault);
      if (period !== undefined) period.to = entry.at;
    }
    if (entry.kind === 'effect') count(this.#effects, entry.name);
    if (entry.kind === 'passed over') count(this.#passedOver, `${entry.name}: ${entry.why}`);
  }

  #violate(kind: Violation['kind'], what: string): void {
    this.#violations.push({ kind, what });
  }

  conclude() {
    if (!this.#isOver) this.#violate('an incomplete history', 'it ends before the run does');
    const figures = {
      counts: this.#counts,
      effects: this.#effects,
      passedOver: this.#passedOver,
      wishes: this.#wishes,
      storms: this.#storms,
      periods: [...this.#periods.values()],
      calms: this.#calms,
      disagreements: this.#disagreements,
      from: this.#began ?? this.#latest,
      to: this.#latest,
    };
    return { violations: this.#violations, figures };
  }
}

import type { Entry, Micros } from '../history.js';
import { count } from './terms.js';
import type { Check, Violation } from './verdict.js';

/** From when to when something was wrong. */
export interface Trouble {
  readonly from: Micros;
  to: Micros;
}

export interface Calm {
  readonly storm: number;
  readonly from: Micros;
  to: Micros;
}

export interface WeatherFigures {
  readonly faults: ReadonlyMap<string, number>;
  readonly effects: ReadonlyMap<string, number>;
  readonly passedOver: ReadonlyMap<string, number>;
  readonly wishes: ReadonlyMap<string, number>;
  readonly storms: number;
  /** When there was any fault. */
  readonly troubles: readonly Trouble[];
  readonly calms: readonly Calm[];
  /** When somebody was asked to resign. */
  readonly wishedAt: readonly Micros[];
  readonly wallMs: number;
}

/** Faults and calms, and what the run says of itself. */
export class WeatherCheck implements Check<WeatherFigures> {
  readonly #faults = new Map<string, number>();
  readonly #effects = new Map<string, number>();
  readonly #passedOver = new Map<string, number>();
  readonly #wishes = new Map<string, number>();
  readonly #troubles = new Map<number, Trouble>();
  readonly #calms: Calm[] = [];
  readonly #wishedAt: Micros[] = [];
  readonly #violations: Violation[] = [];
  #storms = 0;
  #began: Micros | undefined;
  #latest: Micros = 0;
  #isOver = false;

  see(entry: Entry): void {
    this.#began ??= entry.at;
    this.#latest = Math.max(this.#latest, entry.at);
    switch (entry.kind) {
      case 'storm':
        this.#storms++;
        return;
      case 'calm':
        this.#calms.push({ storm: entry.storm, from: entry.at, to: Number.POSITIVE_INFINITY });
        return;
      case 'calm is over': {
        const calm = this.#calms.at(-1);
        if (calm !== undefined) calm.to = entry.at;
        return;
      }
      case 'fault':
        count(this.#faults, entry.name);
        this.#troubles.set(entry.fault, { from: entry.at, to: Number.POSITIVE_INFINITY });
        return;
      case 'mended': {
        const trouble = this.#troubles.get(entry.fault);
        if (trouble !== undefined) trouble.to = entry.at;
        return;
      }
      case 'effect':
        count(this.#effects, entry.name);
        return;
      case 'passed over':
        count(this.#passedOver, `${entry.name}: ${entry.why}`);
        return;
      case 'wish':
        count(this.#wishes, entry.what);
        this.#wishedAt.push(entry.at);
        return;
      case 'left behind':
        this.#violations.push({ kind: 'an orphan', what: entry.path });
        return;
      case 'stuck':
        this.#violations.push({ kind: 'a process that did not stop', what: entry.who });
        return;
      case 'failure':
        this.#violations.push({ kind: 'a failure of the run', what: entry.what });
        return;
      case 'over':
        this.#isOver = true;
    }
  }

  conclude() {
    if (!this.#isOver)
      this.#violations.push({ kind: 'an incomplete history', what: 'it ends before the run does' });
    const figures = {
      faults: this.#faults,
      effects: this.#effects,
      passedOver: this.#passedOver,
      wishes: this.#wishes,
      storms: this.#storms,
      troubles: [...this.#troubles.values()],
      calms: this.#calms,
      wishedAt: this.#wishedAt,
      wallMs: (this.#latest - (this.#began ?? this.#latest)) / 1000,
    };
    return { violations: this.#violations, figures };
  }
}

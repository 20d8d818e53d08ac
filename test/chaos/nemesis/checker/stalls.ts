import type { Check as Answer, Demoted, Entry, Micros, ProcessBegan, Setting, Stalls } from '../history.js';
import type { FaultFigures } from './faults.js';
import type { Violation } from './verdict.js';

/** What became of a term over a stall that was shorter than `maxStallMs`. */
interface Term {
  readonly journal: string;
  readonly token: string;
  /** When a thread acted last, or the stall began. */
  actedAt: Micros;
  /** The longest time in which no thread acted. */
  longestPause: Micros;
  outcome: 'kept' | 'lost' | 'ended on purpose';
}

interface Stall {
  readonly who: string;
  readonly forMs: number;
  readonly maxStallMs: number | undefined;
  readonly from: Micros;
  to: Micros | undefined;
  readonly terms: Map<string, Term>;
}

export interface StallFigures {
  readonly stalls: number;
  /** Of processes with `maxStallMs`: shorter than it, but longer than a lease; and longer than it. */
  readonly overLease: number;
  readonly overMost: number;
  /** How often a thread asked and acted; and how often it did so while the main thread stood still. */
  readonly actsOfThreads: number;
  readonly actsInStalls: number;
  /** Terms over stalls that were shorter than `maxStallMs`. */
  readonly kept: number;
  readonly keptOverLease: number;
  readonly lost: number;
  /** Of the kept ones, those with no fault nearby. */
  readonly keptInCalm: number;
  /** Lost with no fault nearby, while threads of the process didn't run for so long that nothing is promised. */
  readonly lostInCalmWithoutProcessor: number;
  readonly threadFailures: number;
}

/** A fault that ended so shortly before a stall, or came so shortly after it, may have cost a term. */
const NEAR_MICROS = { before: 9_000_000, after: 1_000_000 };
/** The main thread finds out within this time after a stall that a term is over. */
const FOUND_OUT_MICROS = 1_000_000;
/** This fault affects no other process. */
const STALL = "a worker's event loop is blocked";
/** The contract asks for a thread that runs within half of a lease. The acting thread runs as often as that of the connections. */
const RUNS_WITHIN = 1 / 4;
const LOSSES = ['lease-expired', 'session-expired', 'node-deleted', 'superseded'];

/**
 * What a stall costs, and that an answer `false` is final in all threads. Acts of other threads while the main thread stands still are acts of their
 * term: the other checks have them.
 */
export class StallCheck {
  readonly #leaseMicros: Micros;
  readonly #began = new Map<string, ProcessBegan>();
  readonly #stalls: Stall[] = [];
  /** The newest stall of each process. */
  readonly #newest = new Map<string, Stall>();
  /** The terms that each process holds, as far as its threads know. */
  readonly #held = new Map<string, Map<string, Pick<Term, 'journal' | 'token'>>>();
  readonly #isOver = new Map<string, Micros>();
  readonly #violations: Violation[] = [];
  readonly #counts = { actsOfThreads: 0, actsInStalls: 0, threadFailures: 0 };

  constructor({ sessionTimeoutMs }: Setting) {
    this.#leaseMicros = (sessionTimeoutMs / 3) * 1000;
  }

  see(entry: Entry): void {
    const { kind } = entry;
    if (kind === 'process began') this.#began.set(entry.who, entry);
    if (kind === 'elected') this.#heldBy(entry.who).set(keyOf(entry), entry);
    if (kind === 'demoted') this.#demote(entry);
    if (kind === 'held') this.#act(entry);
    if (kind === 'not held') this.#refuse(entry);
    if (kind === 'stalls') this.#stall(entry);
    if (kind === 'stalled') this.#goOn(entry);
    if (kind === 'thread fails') this.#counts.threadFailures++;
  }

  #stall({ at, who, forMs }: Stalls & { readonly at: Micros }): void {
    const terms = new Map<string, Term>();
    for (const [key, { journal, token }] of this.#heldBy(who))
      terms.set(key, { journal, token, actedAt: at, longestPause: 0, outcome: 'kept' });
    const { maxStallMs } = this.#began.get(who) ?? {};
    const stall = { who, forMs, maxStallMs, from: at, to: undefined, terms };
    this.#stalls.push(stall);
    this.#newest.set(who, stall);
  }

  #goOn({ at, who }: { readonly at: Micros; readonly who: string }): void {
    const stall = this.#newest.get(who);
    if (stall === undefined) return;
    stall.to = at;
    for (const term of stall.terms.values()) note(term, at);
  }

  #act(entry: Answer & { readonly at: Micros }): void {
    const { at, who, journal, token, hand } = entry;
    const overSince = this.#isOver.get(`${who} ${keyOf(entry)}`);
    if (overSince !== undefined && at > overSince)
      this.#violations.push({
        kind: 'held again',
        what: `${journal}: ${who} held ${token} at ${at}, though a thread was told at ${overSince} that it was over`,
      });
    if (hand !== 'thread') return;
    this.#counts.actsOfThreads++;
    const stall = this.#newest.get(who);
    if (stall === undefined || stall.to !== undefined) return;
    this.#counts.actsInStalls++;
    const term = stall.terms.get(keyOf(entry));
    if (term !== undefined) note(term, at);
  }

  #refuse(entry: Answer & { readonly at: Micros }): void {
    const { who, until } = entry;
    const key = `${who} ${keyOf(entry)}`;
    this.#isOver.set(key, Math.min(until, this.#isOver.get(key) ?? until));
    this.#heldBy(who).delete(keyOf(entry));
    const stall = this.#newest.get(who);
    // The main thread can't end a term while it stands still.
    if (stall !== undefined && stall.to === undefined) this.#end(entry, 'lost');
  }

  #demote(entry: Demoted & { readonly at: Micros }): void {
    this.#heldBy(entry.who).delete(keyOf(entry));
    this.#end(entry, LOSSES.includes(entry.reason) ? 'lost' : 'ended on purpose');
  }

  #end(
    entry: { readonly at: Micros; readonly who: string; readonly journal: string; readonly token: string },
    outcome: Term['outcome'],
  ): void {
    const stall = this.#newest.get(entry.who);
    const term = stall?.terms.get(keyOf(entry));
    if (stall === undefined || term?.outcome !== 'kept') return;
    if (stall.to === undefined || entry.at <= stall.to + FOUND_OUT_MICROS) term.outcome = outcome;
  }

  #heldBy(who: string): Map<string, Pick<Term, 'journal' | 'token'>> {
    const held = this.#held.get(who) ?? new Map();
    this.#held.set(who, held);
    return held;
  }

  /** Call it once, after the last entry. */
  conclude(faults: FaultFigures): {
    readonly violations: readonly Violation[];
    readonly figures: StallFigures;
  } {
    const violations = [...this.#violations];
    const able = this.#stalls.filter(({ maxStallMs }) => maxStallMs !== undefined);
    const short = able.filter(({ forMs, maxStallMs = 0 }) => forMs < maxStallMs);
    const isOverLease = ({ forMs }: Stall) => forMs * 1000 > this.#leaseMicros;
    const sums = { kept: 0, keptOverLease: 0, keptInCalm: 0, lost: 0, lostInCalmWithoutProcessor: 0 };
    for (const stall of short) {
      if (stall.to === undefined) continue; // The process was killed.
      const wasCalm = isCalm(stall, faults);
      for (const term of stall.terms.values()) {
        if (term.outcome === 'kept') {
          sums.kept++;
          if (isOverLease(stall)) sums.keptOverLease++;
          if (wasCalm) sums.keptInCalm++;
        }
        if (term.outcome !== 'lost') continue;
        sums.lost++;
        if (!wasCalm) continue;
        if (term.longestPause > this.#leaseMicros * RUNS_WITHIN) sums.lostInCalmWithoutProcessor++;
        else violations.push(describe(stall, term));
      }
    }
    const figures = {
      stalls: this.#stalls.length,
      overLease: short.filter(isOverLease).length,
      overMost: able.length - short.length,
      ...this.#counts,
      ...sums,
    };
    return { violations, figures };
  }
}

function isCalm({ from, to = from }: Stall, { periods }: FaultFigures): boolean {
  return !periods.some(
    (period) =>
      period.name !== STALL &&
      period.from <= to + NEAR_MICROS.after &&
      period.to + NEAR_MICROS.before >= from,
  );
}

function note(term: Term, at: Micros): void {
  if (term.outcome === 'kept') term.longestPause = Math.max(term.longestPause, at - term.actedAt);
  term.actedAt = at;
}

function keyOf({ journal, token }: { readonly journal: string; readonly token: string }): string {
  return `${journal} ${token}`;
}

function describe({ who, forMs, maxStallMs, from }: Stall, { journal, token }: Term): Violation {
  const what = `${journal}: ${who} lost ${token} in a stall of ${forMs} ms from ${from}, with maxStallMs ${maxStallMs}`;
  return { kind: 'a term lost in a stall', what };
}

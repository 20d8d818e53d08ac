import type { Beginning, HeldRecord, ReadRecord } from '../../election/record/election-record.js';
import { takeoverDelayMs } from '../../lease/failure-detector.js';
import { shownId } from './read-limits.js';
import type { TermView, TransitionView } from './view-types.js';

/** How many terms of an election are kept. */
const MOST_TERMS = 100;

type End = NonNullable<TermView['end']>;
type TermEvent = Omit<TransitionView, 'path'>;

/** By how the next term began. */
const ENDS: Readonly<Record<Beginning, End>> = {
  vacant: 'released',
  handover: 'handed-over',
  failover: 'session-ended',
  takeover: 'taken-over',
};

/** How a term has ended, by the record that was read after it. A pure decision. */
export function endOf(term: number, after: ReadRecord): End {
  if (after.state === 'vacant') return after.term === term ? 'released' : 'unknown';
  if (after.state === 'unreadable' || after.term !== term + 1 || after.began === undefined) return 'unknown';
  return ENDS[after.began];
}

/**
 * When a term was over at the latest, by the claim of the term after it: a candidate claims a silent leader's term only when its lease
 * has been over for the margin of the takeover delay. So the time without a leader is at least as long as shown.
 */
function overBy(claimedAt: number, end: End, leaseMs: number): number {
  return end === 'taken-over' ? claimedAt - (takeoverDelayMs(leaseMs) - leaseMs) : claimedAt;
}

/** The record of an election, as it was read. */
export interface RecordFacts {
  readonly record: ReadRecord;
  /** When it was written, by this process's clock. */
  readonly at: number;
  /** The id in the leader's node, or else in its record. */
  readonly id: string | null;
  /** Whether the leader's node is known to be gone. */
  readonly isGone: boolean;
}

/** The terms of one election, from the reads that show them. */
export class PastTerms {
  #terms: TermView[] = [];
  /** The newest record that named a leader, until another record was read. */
  #open: HeldRecord | undefined;

  /** The oldest first. */
  get all(): readonly TermView[] {
    return this.#terms;
  }

  /**
   * @param now - when it was seen
   * @returns what has happened, in order
   */
  see(facts: RecordFacts, now: number): TermEvent[] {
    const { record, at } = facts;
    const open = this.#open;
    const held = record.state === 'held' ? record : undefined;
    if (held !== undefined && held.term === open?.term && held.node === open.node)
      return this.#seeAgain(facts, now);
    const events: TermEvent[] = [];
    if (open !== undefined) {
      const end = endOf(open.term, record);
      const closedAt = record.state === 'unreadable' ? now : overBy(at, end, open.leaseMs);
      events.push(...this.#close(end, closedAt));
    }
    this.#open = held;
    if (held !== undefined) events.push(...this.#begin(held, facts, now));
    return events;
  }

  get #last(): TermView | undefined {
    return this.#terms.at(-1);
  }

  #seeAgain({ id, isGone }: RecordFacts, now: number): TermEvent[] {
    if (id !== null) this.#write({ id: shownId(id) });
    return isGone ? this.#close('session-ended', now) : [];
  }

  #begin({ term }: HeldRecord, facts: RecordFacts, now: number): TermEvent[] {
    const { at, isGone } = facts;
    const id = facts.id === null ? null : shownId(facts.id);
    this.#terms = [...this.#terms, { term, id, from: at, to: null, end: null }].slice(-MOST_TERMS);
    const elected: TermEvent = { at, kind: 'elected', id, term };
    return isGone ? [elected, ...this.#close('session-ended', now)] : [elected];
  }

  /** A term that has ended no longer changes. */
  #close(end: End, at: number): TermEvent[] {
    const last = this.#last;
    if (last === undefined || last.end !== null) return [];
    const to = Math.max(at, last.from);
    this.#write({ to, end });
    return [{ at: to, kind: 'ended', id: last.id, term: last.term, reason: end }];
  }

  #write(change: Partial<TermView>): void {
    const last = this.#last;
    if (last !== undefined) this.#terms = [...this.#terms.slice(0, -1), { ...last, ...change }];
  }
}

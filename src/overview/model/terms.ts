import type { ReadRecord } from '../../election/nodes/record.js';
import { takeoverDelayMs } from '../../lease/silence.js';
import { shownId } from './text.js';
import type { TermView, TransitionView } from './views.js';

/** How many terms of an election are kept. */
export const MOST_TERMS = 100;

type End = NonNullable<TermView['end']>;
type TermEvent = Omit<TransitionView, 'path'>;

/** What is known at the moment when a term is found to be over. */
export interface EndOfTerm {
  /** The record that named its leader. */
  readonly before: { readonly term: number; readonly takeover: boolean };
  /** Whether the leader's node was seen to be gone while the record still named it. */
  readonly wasGone: boolean;
  readonly after: ReadRecord;
  /** How often the record was written between the two reads. */
  readonly writes: number;
  /** Whether the new leader's node says that the term was handed over to it. */
  readonly isHandedOver: boolean;
  /** Whether the two reads are of different sessions, so that changes of the leader's node between them weren't seen. */
  readonly wasAway: boolean;
}

/**
 * How a term has ended, as far as that can be seen from outside. A pure decision. A release writes the record and deletes the leader's node
 * in one transaction. A claim after a dead leader finds no node. A takeover deletes the node in its claim; only leaders whose record says
 * so allow that.
 * A successor that is first in the queue gets a record without its id, since the leader hasn't read its node.
 */
export function endOf({ before, wasGone, after, writes, isHandedOver, wasAway }: EndOfTerm): End {
  if (wasGone) return 'session-ended';
  if (after.state === 'unreadable') return 'unknown';
  if (after.state === 'vacant') return after.term === before.term ? 'released' : 'unknown';
  if (after.term !== before.term + 1) return 'unknown';
  if (after.id === undefined || isHandedOver) return 'handed-over';
  if (writes === 2) return 'released'; // It was vacant in between.
  if (wasAway || writes !== 1) return 'unknown';
  return before.takeover ? 'taken-over' : 'session-ended';
}

/**
 * When a term was over at the latest, by the claim of the term after it: a candidate claims a silent leader's term only when its lease
 * has been over for the margin of the takeover delay. So the time without a leader is at least as long as shown.
 */
function overBy(claimedAt: number, end: End, leaseMs: number): number {
  return end === 'taken-over' ? claimedAt - (takeoverDelayMs(leaseMs) - leaseMs) : claimedAt;
}

/** The record of a seat, as it was read. */
export interface SeatFacts {
  readonly record: ReadRecord;
  readonly version: number;
  /** When it was written, by this process's clock. */
  readonly at: number;
  /** The id in the leader's node, or else in its record. */
  readonly id: string | null;
  /** Whether the leader's node is known to be gone. */
  readonly isGone: boolean;
  readonly isHandedOver: boolean;
}

interface OpenTerm {
  readonly term: number;
  readonly node: string;
  readonly takeover: boolean;
  readonly leaseMs: number;
  readonly version: number;
  /** The reading that has read it last. */
  readonly reading: object;
}

/** The terms of one seat, from the reads that show them. */
export class SeatTerms {
  readonly #seat: number;
  #terms: TermView[];
  #open: OpenTerm | undefined;

  /** @param past - the terms that are known from before the overview began, the oldest first */
  constructor(seat: number, past: readonly TermView[] = []) {
    this.#seat = seat;
    this.#terms = past.slice(-MOST_TERMS);
  }

  /** The oldest first. */
  get terms(): readonly TermView[] {
    return this.#terms;
  }

  /**
   * @param now - when it was seen
   * @param reading - the same object for all reads of one session
   * @returns what has happened, in order
   */
  see(facts: SeatFacts, now: number, reading: object): TermEvent[] {
    const { record, version, at } = facts;
    const open = this.#open;
    const isSame =
      record.state === 'held' && open !== undefined && record.term === open.term && record.node === open.node;
    if (isSame) return this.#seeAgain(open, facts, now, reading);
    const events: TermEvent[] = [];
    if (open !== undefined) {
      const end = endOf({
        before: open,
        wasGone: this.#last?.to !== null,
        after: record,
        writes: version - open.version,
        isHandedOver: facts.isHandedOver,
        wasAway: open.reading !== reading,
      });
      const closedAt = record.state === 'unreadable' ? now : overBy(at, end, open.leaseMs);
      events.push(...this.#close(end, closedAt));
      this.#open = undefined;
    }
    if (record.state === 'held') events.push(...this.#begin(facts, now, reading));
    // Known from before the overview began, and over by now.
    else if (this.#last?.end === null) events.push(...this.#close('unknown', at));
    return events;
  }

  get #last(): TermView | undefined {
    return this.#terms.at(-1);
  }

  #seeAgain(open: OpenTerm, { version, id, isGone }: SeatFacts, now: number, reading: object): TermEvent[] {
    this.#open = { ...open, version, reading };
    if (id !== null) this.#write({ id: shownId(id) });
    return isGone ? this.#close('session-ended', now) : [];
  }

  #begin(facts: SeatFacts, now: number, reading: object): TermEvent[] {
    const { record, version, at, isGone } = facts;
    if (record.state !== 'held') return [];
    const { term, node, silentMs, leaseMs } = record;
    const id = facts.id === null ? null : shownId(facts.id);
    this.#open = { term, node, takeover: silentMs === undefined, leaseMs, version, reading };
    const last = this.#last;
    const isKnown = last !== undefined && last.term === term && last.end === null;
    const events: TermEvent[] = last?.end === null && !isKnown ? this.#close('unknown', at) : [];
    if (!isKnown) {
      this.#terms = [...this.#terms, { term, seat: this.#seat, id, from: at, to: null, end: null }];
      this.#terms = this.#terms.slice(-MOST_TERMS);
      events.push({ at, kind: 'elected', id, term });
    }
    return isGone ? [...events, ...this.#close('session-ended', now)] : events;
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

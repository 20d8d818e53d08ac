import { type Beating, leftMs, type Sign } from '../lease/failure-detector.js';
import { halfLeaseMs } from '../platform/time/heartbeat-intervals.js';
import { compareEntries, parseEntry } from '../queue/names-and-order.js';
import type { HeldRecord, ReadRecord, SeenRecord } from './record/election-record.js';

/** What a candidate knows of the record, and of the candidate that it names. All of it was seen over the session's present connection. */
export interface KnownRecord {
  /** `undefined` if it is unread, or if something has happened since that may have changed it, as the loss of the connection. */
  readonly record: SeenRecord | undefined;
  /** What was seen of the candidate that the record names. Of an unreadable record: since when it has been unreadable. */
  readonly holder: Sign;
  /** Whether the servers refuse to let this candidate delete the holder's nodes. */
  readonly isProtected: boolean;
  /**
   * Whether the candidate has had another place in this election before. Then a record without a term may be a new one: another client may
   * have deleted the election, with its record, while a candidate led, and the election was created again.
   */
  readonly hadPlace: boolean;
  /**
   * When the servers refused a claim over this very record, or the first proof of a term by it, by the session's clock. A server that shows it nevertheless has lost writes, or
   * has kept what the others have lost.
   */
  readonly refusedAt?: number | undefined;
}

/** What a candidate knows beside the records. */
export interface Known {
  /** The time, by the session's clock. */
  readonly now: number;
  /** The name of the candidate's node, and the length of its leases. */
  readonly own: { readonly node: string; readonly leaseMs: number };
  /** The longest lease that a leader of the election may have, as far as the candidate has seen, in milliseconds. */
  readonly longestLeaseMs: number;
  /** `undefined` while the queue is being listed. */
  readonly ahead: Ahead | undefined;
  /** The least delay by the candidate's options, in milliseconds. */
  readonly leastDelayMs: number;
}

/** The candidates ahead in the queue. */
export interface Ahead {
  /** How many have to go before it is the candidate's turn. */
  readonly position: number;
  /** The name of the nearest one's node. Not given if it is the candidate's turn. */
  readonly nearest?: string | undefined;
}

/** What a candidate does next about a record. */
export type Step = LookStep | LeadStep | ClaimStep | EmptyStep | WaitStep;

/** Read the record. */
export interface LookStep {
  readonly do: 'look';
}

/** The term is the candidate's. */
export interface LeadStep {
  readonly do: 'lead';
  readonly record: SeenRecord<HeldRecord>;
}

/** Claim the next term. */
export interface ClaimStep {
  readonly do: 'claim';
  readonly over: SeenRecord;
  /** Delete the holder's nodes with the same write, if the holder has sent no other heartbeat than this. */
  readonly instead?: Beating | undefined;
}

/** Empty a record that can't be read. The lease of a leader that may have held it is over a delay later. */
export interface EmptyStep {
  readonly do: 'empty';
  readonly over: SeenRecord;
}

/** Wait until more is known. */
export interface WaitStep {
  readonly do: 'wait';
  /** In milliseconds: the time alone may change the decision. */
  readonly ms?: number;
  /** The name of the node for whose end it waits. Not given if it waits for the end of a lease alone. */
  readonly behind?: string | undefined;
  /** Whether it waits because the servers have refused a write over the record that its server shows. */
  readonly refused?: boolean;
}

/**
 * What a candidate does next, by what it knows: a pure decision. The servers check it once more: they carry a claim out only if the record
 * is still at the version that the candidate has seen, and a takeover only if the holder has sent no other heartbeat.
 *
 * A candidate that isn't the first in the queue may take over from a silent holder, and may be handed the term by any other candidate.
 */
export function decide(of: KnownRecord, known: Known): Step {
  const { record, holder } = of;
  const { own, ahead } = known;
  if (record === undefined) return { do: 'look' };
  const { value } = record;
  if (value.state === 'held' && value.node === own.node) {
    // A leader that didn't know this candidate's lease has written the record, and others wait no longer than it says.
    if (value.leaseMs < own.leaseMs) return claim(of, record, known);
    return unlessRefused(of, known, { do: 'lead', record: record as SeenRecord<HeldRecord> });
  }
  if (ahead === undefined) return { do: 'wait' };
  if (isVacant(value, of.hadPlace))
    return ahead.position === 0 ? claim(of, record, known) : { do: 'wait', behind: ahead.nearest };
  if (value.state === 'unreadable' && !value.isEmpty && ahead.position === 0)
    return unlessRefused(of, known, { do: 'empty', over: record });
  const named = value.state === 'held' ? value.node : undefined;
  const behind = ahead.nearest ?? named;
  const rank = rankBehind(of, known);
  if (rank === undefined) return { do: 'wait', behind };
  const leaseMs = value.state === 'held' ? value.leaseMs : Math.max(own.leaseMs, known.longestLeaseMs);
  const ms = leftMs(holder, { leaseMs, leastMs: known.leastDelayMs, rank }, known.now);
  if (holder.name === 'gone') return ms > 0 ? { do: 'wait', ms } : claim(of, record, known);
  if (holder.name === 'unseen') return { do: 'wait', behind };
  if (ms > 0) return { do: 'wait', ms, behind };
  // Without a new look, the claim would be sent to servers that may hang.
  return isNew(holder, known) ? claim(of, record, known, holder) : { do: 'wait', behind };
}

/** Whether no candidate can hold a term by that record. */
export function isVacant(record: ReadRecord, hadPlace: boolean): boolean {
  return record.state === 'vacant' && !(record.term === 0 && hadPlace);
}

/**
 * How many others come before the candidate that waits for the end of the holder's lease; `undefined` if it doesn't wait for that. When
 * the holder's node is gone, the first in the queue alone waits for it.
 */
function rankBehind({ record, holder, isProtected }: KnownRecord, { ahead, own }: Known): number | undefined {
  const position = ahead?.position ?? 0;
  if (holder.name === 'gone') return position === 0 ? 0 : undefined;
  if (isProtected || record?.value.state !== 'held') return undefined;
  return rankOf(position, isAhead(record.value.node, own.node));
}

/**
 * How many candidates come before a candidate that `position` nodes ahead in the queue block. The holder doesn't count. It is ahead of
 * the others, or behind them if the term was handed over to it. `undefined` if the candidate is too far behind to take over.
 */
export function rankOf(position: number, isHolderAhead: boolean): number | undefined {
  const rank = Math.max(0, position - (isHolderAhead ? 1 : 0));
  return rank < MOST_RANKS ? rank : undefined;
}

const MOST_RANKS = 2; // The next in line, and the third: the leader's host may have taken the next in line with it.

function isAhead(holder: string, own: string): boolean {
  const [one, other] = [parseEntry(holder), parseEntry(own)];
  return one !== undefined && other !== undefined && compareEntries(one, other) < 0;
}

function claim(of: KnownRecord, over: SeenRecord, known: Known, instead?: Beating): Step {
  return unlessRefused(of, known, { do: 'claim', over, instead });
}

/** A write over a record that the servers have refused isn't sent again within a lease. */
function unlessRefused({ refusedAt }: KnownRecord, { now, own }: Known, step: Step): Step {
  const refusedMs = refusedAt === undefined ? own.leaseMs : now - refusedAt;
  return refusedMs < own.leaseMs ? { do: 'wait', ms: own.leaseMs - refusedMs, refused: true } : step;
}

/** Whether the newest read of the holder's version is new. */
function isNew({ readAt }: Beating, { now, own }: Known): boolean {
  return now - readAt < halfLeaseMs(own.leaseMs);
}

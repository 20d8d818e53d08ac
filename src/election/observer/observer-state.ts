import type { EventNames } from '../../platform/safe-emitter.js';
import type { Candidate } from '../candidates/candidate.js';
import { isSameLeader, type LeaderSnapshot, leaderOf } from '../record/read-at-once.js';

/** What an observer has read. It is kept while the observer is blind, so that it shows nothing older after that. */
interface LastRead {
  /** The newest snapshot that any of its sessions has read. */
  readonly snapshot: LeaderSnapshot;
  /** The transaction that wrote the newest record it has read. It only rises while the ensemble keeps its data. */
  readonly recordZxid: bigint;
}

/**
 * What an observer sees.
 *
 * - `unread`: nothing was read yet: `start()` hasn't resolved.
 * - `seeing`: `leader` leads, by the last read.
 * - `blind`: it can no longer read: it has no session, or no server for a session timeout, or a server refuses.
 * - `stopped`: final.
 *
 * unread → seeing ⇄ blind; any → stopped.
 */
export type ObserverState =
  | { readonly name: 'unread' }
  | Seeing
  | (LastRead & { readonly name: 'blind' })
  | { readonly name: 'stopped' };

export type Seeing = LastRead & { readonly name: 'seeing'; readonly leader: Candidate | undefined };

/** What was read last, if anything was. */
export function lastReadOf(state: ObserverState): LastRead | undefined {
  return state.name === 'seeing' || state.name === 'blind' ? state : undefined;
}

/** The state after a read. A leader who is still the same stays the same object: it isn't reported again. */
export function seeing(former: ObserverState, snapshot: LeaderSnapshot): Seeing {
  const isSame = former.name === 'seeing' && isSameLeader(former.snapshot, snapshot);
  const leader = isSame ? former.leader : leaderOf(snapshot);
  const recordZxid =
    snapshot.kind === 'missing' ? (lastReadOf(former)?.recordZxid ?? 0n) : snapshot.recordZxid;
  return { name: 'seeing', leader, snapshot, recordZxid };
}

/** The events of an `ElectionObserver`. They inform, a moment late: no code may act on them as if it led. */
export interface ElectionObserverEvents {
  /** Another candidate leads, the leader advertises something else, or (`undefined`) no leader is known. */
  change(leader: Candidate | undefined): void;
  /** Something went wrong: a server refused, and the observer tries again; or a listener threw. */
  error(error: Error): void;
}

/** @internal */
export const OBSERVER_EVENTS: EventNames<ElectionObserverEvents> = { change: true, error: true };

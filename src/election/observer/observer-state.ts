import type { EventNames } from '../../platform/safe-emitter.js';
import type { Candidate } from '../nodes/candidate.js';
import type { LeaderSnapshot } from '../nodes/snapshot.js';

/**
 * Where an observer stands.
 *
 * - `idle`: not started.
 * - `starting`: it hasn't had its first look; `start()` hasn't resolved yet.
 * - `seeing`: `sighting` is what it saw last.
 * - `blind`: it has seen, and can't any more: it has no session, or one that has been silent for too long, or may not.
 * - `stopped`: final.
 *
 * idle → starting → seeing ⇄ blind; any → stopped.
 */
export type ObserverState =
  | { readonly name: 'idle' }
  | { readonly name: 'starting' }
  | { readonly name: 'seeing'; readonly sighting: LeaderSnapshot }
  | { readonly name: 'blind' }
  | { readonly name: 'stopped' };

/** The events of an `ElectionObserver`. They inform, a moment late: never act on them as if you led. */
export interface ElectionObserverEvents {
  /** Another leads, the leader tells something else about itself, or (`undefined`) nobody is known to lead. */
  change(leader: Candidate | undefined): void;
  /** Something went wrong: a refusal by a server, after which it tries on, or a listener that threw. */
  error(error: Error): void;
}

/** @internal */
export const OBSERVER_EVENTS: EventNames<ElectionObserverEvents> = { change: true, error: true };

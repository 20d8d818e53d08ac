import type { DemotionReason, StopWait } from '../errors.js';
import type { QueuePosition } from '../lock/queue/turn-wait.js';
import type { EventNames } from '../platform/safe-emitter.js';
import type { Demotion } from './demotion.js';
import type { ElectedTerm } from './term/elected-term.js';
import type { Term } from './term/term.js';

/**
 * The state of an elector.
 *
 * - `idle`: not started.
 * - `starting`: taking its first place in the queue and finding out which it is; `start()` hasn't resolved yet.
 * - `joining`: taking another place, or finding out which place it has.
 * - `waiting`: behind `position` others, the nearest being `ahead`.
 * - `claiming`: it is its turn; claiming the next term, perhaps after the takeover delay.
 * - `leading`: it leads `term`. Only `term.isHeld()` tells whether that is held still.
 * - `ending`: the term has ended, its work has still to settle.
 * - `stopped`, `expired`: final.
 *
 * idle → starting → waiting (if others are ahead) → claiming → leading → ending → joining → …; any → stopped; any → expired.
 */
export type ElectorState<T extends Term = Term> =
  | { readonly name: 'idle' }
  | { readonly name: 'starting' }
  | { readonly name: 'joining' }
  | ({ readonly name: 'waiting' } & QueuePosition)
  | { readonly name: 'claiming' }
  | { readonly name: 'leading'; readonly term: T }
  | { readonly name: 'ending'; readonly term: T; readonly reason: DemotionReason }
  | { readonly name: 'stopped' }
  | { readonly name: 'expired' };

/** What an elector notes for `conclave/metrics` beside its events: that it waits for the lease of a leader that released nothing. */
export type ElectorNote = 'takeoverWait';

/** The state with what an elector keeps for itself: a `demotion` while the leader's node is gone and it isn't known yet why. */
export type LifecycleState =
  | ElectorState<ElectedTerm>
  | (Extract<ElectorState<ElectedTerm>, { name: 'ending' }> & { readonly demotion: Demotion });

/** What the application sees of the state. */
export function publicStateOf(state: LifecycleState): ElectorState {
  return 'demotion' in state ? { name: state.name, term: state.term, reason: state.reason } : state;
}

/** What holds up the stop of an elector in that state. */
export function holdUpOf(state: LifecycleState): StopWait {
  if (state.name === 'ending' && state.term.hasWork)
    return { by: 'work', what: state.term.unsettled, term: state.term.number };
  return { by: 'servers', what: 'the place in the election has still to be given back' };
}

/** The events of a `LeaderElector`. They inform; `term.signal` and `term.isHeld()` protect. */
export interface LeaderElectorEvents {
  /** Other candidates are ahead: how many, and the name of the nearest one's node. */
  waiting(place: QueuePosition): void;
  /** A term begins. */
  elected(term: Term): void;
  /** That term has ended; exactly one for each `elected`. Its work may still have to settle. See {@link DemotionReason}. */
  demoted(term: Term, reason: DemotionReason): void;
  /** The session has expired: this elector is finished. */
  expired(): void;
  /** It has left the election, by `stop()` or because its session was closed; never after `expired`. */
  stopped(): void;
  /** Something went wrong that it goes on after: failed work, a listener that threw, a refusal by a server. */
  error(error: Error): void;
}

/** @internal */
export const ELECTOR_EVENTS: EventNames<LeaderElectorEvents> = {
  waiting: true,
  elected: true,
  demoted: true,
  expired: true,
  stopped: true,
  error: true,
};

/** What a lifecycle needs of its elector. */
export interface ElectorPort {
  emit<E extends keyof LeaderElectorEvents>(event: E, ...args: Parameters<LeaderElectorEvents[E]>): void;
  readonly report: (error: Error) => void;
  /** What is no event, and is measured. */
  note(what: ElectorNote): void;
}

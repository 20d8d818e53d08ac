import type { DemotionReason, StopWait } from '../errors.js';
import type { EventNames } from '../platform/safe-emitter.js';
import type { QueuePosition } from '../queue/turn-wait.js';
import type { Demotion } from './term/demotion.js';
import type { ElectedTerm } from './term/elected-term.js';
import type { Term } from './term/term.js';

/**
 * The state of an elector.
 *
 * - `idle`: not started.
 * - `starting`: it is taking its first place in the queue, or finding out its position; `start()` hasn't resolved yet.
 * - `joining`: it is taking another place, or finding out its position, or it stays out of the election for a while.
 * - `waiting`: `position` other candidates have to go first, and `ahead` is the name of the nearest one's node.
 * - `claiming`: it is this candidate's turn, and it claims the next term, perhaps after the takeover delay.
 * - `leading`: it leads `term`. Only `term.isHeld()` tells whether the term is still held.
 * - `ending`: the term has ended, and its work still has to settle.
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

/** What an elector notes for `conclave/metrics` beside its events: it waits for the lease of a leader that ended without a release. */
export type ElectorNote = 'takeoverWait';

/** The public state, and what an elector keeps to itself: a `demotion`, from when the leader's node is gone until the reason is known. */
export type LifecycleState =
  | ElectorState<ElectedTerm>
  | (Extract<ElectorState<ElectedTerm>, { name: 'ending' }> & { readonly demotion: Demotion });

/** What the application sees of the state. */
export function publicStateOf(state: LifecycleState): ElectorState {
  return 'demotion' in state ? { name: state.name, term: state.term, reason: state.reason } : state;
}

/** What the stop of an elector in that state waits for. */
export function electorHoldUpOf(state: LifecycleState): StopWait {
  if (state.name === 'ending' && state.term.hasWork)
    return { by: 'work', what: state.term.unsettled, term: state.term.number };
  if (state.name === 'leading')
    return { by: 'successor', what: 'the candidate that leads next still prepares' };
  return { by: 'servers', what: 'the place in the election still has to be given back' };
}

/** The events of a `LeaderElector`. They only inform. To act safely as a leader, use `term.signal` and `term.isHeld()`. */
export interface LeaderElectorEvents {
  /** Other candidates are ahead: how many, and the name of the nearest one's node. */
  waiting(place: QueuePosition): void;
  /** A term begins. */
  elected(term: Term): void;
  /**
   * That term has ended, for this reason; see {@link DemotionReason}. Emitted exactly once for each `elected`. The work
   * of the term may still have to settle.
   */
  demoted(term: Term, reason: DemotionReason): void;
  /** The session has expired, and this elector with it. Final. */
  expired(): void;
  /** The elector has left the election, by `stop()` or because its session was closed. Final; never emitted after `expired`. */
  stopped(): void;
  /**
   * Something went wrong: the leader's work failed, a listener threw, a server refused. The elector goes on, except
   * after an error with which `start()` rejects.
   */
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

/**
 * Called at the end of each term, between the end of its work and its release. Must not reject.
 * @param lostFor - why the term is lost: its lease was over, or its node was gone, before the work had settled. The term may have ended
 *   before that for another reason. `undefined` if the term is given back as its leader held it; `stopped` if the session was closed
 */
export type BeforeRelease = (term: ElectedTerm, lostFor: DemotionReason | undefined) => Promise<void>;

/** What a lifecycle needs of its elector. */
export interface ElectorPort {
  emit<E extends keyof LeaderElectorEvents>(event: E, ...args: Parameters<LeaderElectorEvents[E]>): void;
  readonly report: (error: Error) => void;
  /** Notes something that is measured and isn't an event. */
  note(what: ElectorNote): void;
}

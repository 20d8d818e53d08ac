import type { Term } from '../../election/term/term.js';
import type { DemotionReason } from '../../errors.js';
import type { EventNames } from '../../platform/safe-emitter.js';
import type { QueuePosition } from '../../queue/turn-wait.js';

/** Another attempt to take part in the election. */
export interface Restart {
  /** 1 for the first attempt after a loss, and one more for each that follows because the one before failed. */
  readonly attempt: number;
  /** The time from now until it begins, in milliseconds. */
  readonly delayMs: number;
}

/** The events of an {@link ElectionSupervisor}. They only inform you. For safety use `term.signal`, `term.isHeld()` and the hook. */
export interface ElectionSupervisorEvents {
  /** Other candidates are ahead: how many, and the name of the nearest one's node. */
  waiting(place: QueuePosition): void;
  /** A term begins. */
  elected(term: Term): void;
  /** The term has ended. Each `elected` is followed by exactly one `demoted`. The term's work may still have to settle. */
  demoted(term: Term, reason: DemotionReason): void;
  /**
   * The session has expired. The hook runs when the work has settled, even if you stop the supervisor meanwhile. (It also runs after
   * a term that was lost while its session lived. Of that `demoted` tells.)
   */
  expired(): void;
  /** The clean-up hook has succeeded. */
  cleaned(): void;
  /** The supervisor is about to open a session and take part in the election again. */
  restarting(restart: Restart): void;
  /** The supervisor has left the election for good. */
  stopped(): void;
  /** Something went wrong. The supervisor goes on, unless the error is a `CleanupFailedError`. */
  error(error: Error): void;
}

/** @internal Emits one of these events. */
export type EmitEvent<Events extends Record<keyof Events, (...args: never[]) => void>> = <
  E extends keyof Events,
>(
  event: E,
  ...args: Parameters<Events[E]>
) => void;

/** @internal */
export const SUPERVISOR_EVENTS: EventNames<ElectionSupervisorEvents> = {
  waiting: true,
  elected: true,
  demoted: true,
  expired: true,
  cleaned: true,
  restarting: true,
  stopped: true,
  error: true,
};

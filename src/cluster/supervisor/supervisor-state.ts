import type { LeaderElector } from '../../election/elector.js';
import type { StopWait } from '../../errors.js';
import type { Session } from '../../session/session.js';

/**
 * The states of a supervisor.
 *
 * - `idle`: not started.
 * - `connecting`: looks for a server to open a session with, for the `attempt`th time in a row, since `sinceMs` by the clock.
 * - `campaigning`: its elector has a place in the queue, or leads.
 * - `settling`: the session has ended, or is being closed; the leader's work has still to settle.
 * - `cleaning`: the clean-up hook runs for the `attempt`th time, or is about to be called again.
 * - `cooling`: stays out of the election after a lost term; without a cooldown, only in passing.
 * - `stopped`: final.
 *
 * idle → connecting → campaigning → settling → cleaning → cooling → connecting → …; any → stopped.
 */
export type SupervisorState =
  | { readonly name: 'idle' }
  | { readonly name: 'connecting'; readonly attempt: number; readonly sinceMs: number }
  | ({ readonly name: 'campaigning' | 'settling' } & OpenCandidacy)
  | { readonly name: 'cleaning'; readonly attempt: number }
  | { readonly name: 'cooling' }
  | { readonly name: 'stopped' };

/** The elector of a candidacy that is under way, and the session that it belongs to. */
export interface OpenCandidacy {
  readonly elector: LeaderElector;
  readonly session: Session;
}

/** What holds up the stop of a supervisor in that state. */
export function holdUpOf(state: SupervisorState): StopWait {
  if (state.name === 'cleaning')
    return { by: 'cleanup', what: `attempt ${state.attempt} of the clean-up hook still runs` };
  if (!('elector' in state)) return { by: 'servers', what: 'the search for a server has still to end' };
  const { elector } = state;
  const hasLeft = elector.state.name === 'stopped' || elector.state.name === 'expired';
  return hasLeft ? { by: 'servers', what: 'the session has still to be closed' } : elector.holdUp;
}

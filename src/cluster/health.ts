import type { LeaderElector } from '../election/elector.js';
import type { ElectorState } from '../election/elector-state.js';

/**
 * Where a supervisor stands.
 *
 * - `idle`: not started.
 * - `connecting`: looking for a server to open a session with, for the `attempt`th time in a row.
 * - `standing`: its elector contends, or leads.
 * - `settling`: the session is over or being closed; the leader's work has still to settle.
 * - `cleaning`: the clean-up hook runs, or is about to be called again.
 * - `stopped`: final.
 *
 * idle → connecting → standing → settling → cleaning → connecting → …; any → stopped.
 */
export type SupervisorState =
  | { readonly name: 'idle' }
  | { readonly name: 'connecting'; readonly attempt: number }
  | { readonly name: 'standing'; readonly elector: LeaderElector }
  | { readonly name: 'settling'; readonly elector: LeaderElector }
  | { readonly name: 'cleaning' }
  | { readonly name: 'stopped' };

/** What a supervisor says of itself, for a health check. */
export interface Health {
  /** Whether it contends for leadership, leads, or is on its way to doing so again. A process that isn't live should be restarted. */
  readonly live: boolean;
  /** Whether it has a place in the queue, or leads. */
  readonly ready: boolean;
  /** Whether it leads at this very moment, by its lease. */
  readonly leading: boolean;
  /** Whether the work of a term that is over is still running: nobody knows what it does. */
  readonly wedged: boolean;
  /** Why, in a few words each; empty when there is nothing to say. */
  readonly reasons: readonly string[];
}

export function healthOf(state: SupervisorState): Health {
  const unwell = { live: true, ready: false, leading: false, wedged: false };
  switch (state.name) {
    case 'idle':
      return { ...unwell, live: false, reasons: ['not started'] };
    case 'connecting':
      return { ...unwell, reasons: [`no session yet, attempt ${state.attempt}`] };
    case 'standing':
    case 'settling':
      return electorHealth(state.elector.state);
    case 'cleaning':
      return { ...unwell, reasons: ['the clean-up hook runs'] };
    case 'stopped':
      return { ...unwell, live: false, reasons: ['stopped'] };
  }
}

function electorHealth(state: ElectorState): Health {
  const well = { live: true, ready: true, leading: false, wedged: false, reasons: [] };
  switch (state.name) {
    case 'leading': {
      const leading = state.term.isHeld();
      return leading
        ? { ...well, leading }
        : { ...well, ready: false, wedged: true, reasons: ['the lease is over'] };
    }
    case 'waiting':
    case 'claiming':
      return well;
    case 'ending': {
      const wedged = ['lease-expired', 'session-expired', 'node-deleted'].includes(state.reason);
      return {
        ...well,
        ready: false,
        wedged,
        reasons: [`the term has ended (${state.reason}), its work still runs`],
      };
    }
    case 'idle':
    case 'starting':
    case 'joining':
    case 'stopped':
    case 'expired':
      return { ...well, ready: false, reasons: [`the elector is ${state.name}`] };
  }
}

import type { LeaderElector } from '../../election/elector.js';
import type { StopWait } from '../../errors.js';
import type { Session } from '../../session/session.js';

/**
 * Where a supervisor stands.
 *
 * - `idle`: not started.
 * - `connecting`: looking for a server to open a session with, for the `attempt`th time in a row, `sinceMs` by the clock.
 * - `standing`: its elector contends, or leads.
 * - `settling`: the session is over or being closed; the leader's work has still to settle.
 * - `cleaning`: the clean-up hook runs for the `attempt`th time, or is about to be called again.
 * - `cooling`: stays out of the election, having lost its term; without a wait, only in passing.
 * - `stopped`: final.
 *
 * idle → connecting → standing → settling → cleaning → cooling → connecting → …; any → stopped.
 */
export type SupervisorState =
  | { readonly name: 'idle' }
  | { readonly name: 'connecting'; readonly attempt: number; readonly sinceMs: number }
  | { readonly name: 'standing'; readonly elector: LeaderElector; readonly session: Session }
  | { readonly name: 'settling'; readonly elector: LeaderElector; readonly session: Session }
  | { readonly name: 'cleaning'; readonly attempt: number }
  | { readonly name: 'cooling' }
  | { readonly name: 'stopped' };

/** What a supervisor says of itself, for a health check. */
export interface Health {
  /**
   * Whether it contends for leadership, leads, or is on its way to doing so again: looks for a server, for however long,
   * since starting the process anew wouldn't find one sooner; cleans up; waits to cool down. Not live is one that is
   * wedged, has stopped, or was never started.
   */
  readonly live: boolean;
  /** Whether it leads, or has a place in the queue and a server that would tell it of its turn. */
  readonly ready: boolean;
  /** Whether it leads at this very moment, by its lease. */
  readonly leading: boolean;
  /**
   * Whether work of a term still runs though its lease is over: another one may lead, and nobody knows what this one
   * does. Or though the supervisor was stopped, and has waited for it for a lease: nobody can lead before it has settled. It
   * won't stand again before that. Restart a process that stays so.
   */
  readonly wedged: boolean;
  /** Why, in a few words each; empty when there is nothing to say. */
  readonly reasons: readonly string[];
}

/** The time, and until when the supervisor stays out of the election, both by its clock. */
export interface HealthTimes {
  readonly now: number;
  readonly coolUntil: number;
}

const WELL: Health = { live: true, ready: true, leading: false, wedged: false, reasons: [] };

/** What holds up the stop of a supervisor in that state. */
export function holdUpOf(state: SupervisorState): StopWait {
  if (state.name === 'cleaning')
    return { by: 'cleanup', what: `attempt ${state.attempt} of the clean-up hook still runs` };
  if (!('elector' in state)) return { by: 'servers', what: 'the search for a server has still to end' };
  const { elector } = state;
  const hasLeft = elector.state.name === 'stopped' || elector.state.name === 'expired';
  return hasLeft ? { by: 'servers', what: 'the session has still to be closed' } : elector.holdUp;
}

export function healthOf(state: SupervisorState, times: HealthTimes): Health {
  const unwell = { ...WELL, ready: false };
  switch (state.name) {
    case 'idle':
      return { ...unwell, live: false, reasons: ['not started'] };
    case 'connecting':
      return {
        ...unwell,
        reasons: [`no session for ${since(state.sinceMs, times)} ms, attempt ${state.attempt}`],
      };
    case 'standing':
    case 'settling':
      return candidateHealth(state, times);
    case 'cleaning': {
      const again = state.attempt > 1 ? `, attempt ${state.attempt}` : '';
      return { ...unwell, reasons: [`the clean-up hook runs${again}`] };
    }
    case 'cooling':
      return { ...unwell, reasons: [coolsDown(times)] };
    case 'stopped':
      return { ...unwell, live: false, reasons: ['stopped'] };
  }
}

type Standing = Extract<SupervisorState, { readonly elector: LeaderElector }>;

function candidateHealth({ elector, session }: Standing, times: HealthTimes): Health {
  const serverLost = session.state.name === 'suspended';
  const reasons = serverLost ? [`no server for ${since(session.state.sinceMs, times)} ms`] : [];
  // A lease that is over ends the term when it is asked for: what the state is, is read after that.
  if (elector.state.name === 'leading' && elector.state.term.isHeld())
    return { ...WELL, leading: true, reasons };
  const { state, isOverdue, isWedged } = elector;
  switch (state.name) {
    case 'waiting':
    case 'claiming':
      return { ...WELL, ready: !serverLost, reasons };
    case 'leading':
    case 'ending': {
      const why = state.name === 'ending' ? state.reason : 'lease-expired';
      const wedged = isOverdue || isWedged;
      const beyond = isWedged ? 'though the lease is over' : 'a lease after it was told to stop';
      const work = wedged ? `its work still runs, ${beyond}` : 'its work has still to settle';
      reasons.unshift(`the term has ended (${why}), ${work}`);
      return { ...WELL, live: !wedged, ready: false, wedged, reasons };
    }
    case 'joining':
      if (times.coolUntil > times.now) reasons.unshift(coolsDown(times));
      else reasons.unshift('the elector is joining');
      return { ...WELL, ready: false, reasons };
    case 'idle':
    case 'starting':
    case 'stopped':
    case 'expired':
      return { ...WELL, ready: false, reasons: [`the elector is ${state.name}`, ...reasons] };
  }
}

function coolsDown({ now, coolUntil }: HealthTimes): string {
  return `cools down after a lost term, for another ${Math.ceil(Math.max(0, coolUntil - now))} ms`;
}

function since(ms: number, { now }: HealthTimes): number {
  return Math.round(now - ms);
}

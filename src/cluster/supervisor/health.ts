import type { OpenCandidacy, SupervisorState } from './supervisor-state.js';

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
    case 'campaigning':
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

function candidateHealth({ elector, session }: OpenCandidacy, times: HealthTimes): Health {
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

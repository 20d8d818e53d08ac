import type { OpenCandidacy } from './supervised-elector.js';
import type { SupervisorState } from './supervisor-state.js';

/** The condition of a supervisor, for a health check. */
export interface Health {
  /**
   * Whether the supervisor contends for leadership, leads, or is on its way to do so again. On its way it cleans up, cools down,
   * or looks for a server, for any length of time: a new process wouldn't find a server sooner. A supervisor isn't live if it
   * is wedged, has stopped, or was never started.
   */
  readonly live: boolean;
  /** Whether it leads, or has a place in the queue and a server that would notify it of its turn. */
  readonly ready: boolean;
  /** Whether it leads at this very moment, by its lease. */
  readonly leading: boolean;
  /**
   * Whether the work of a term still runs although its lease is over: another process may lead, and this work may act beside it.
   * Or the work still runs although the supervisor was stopped a lease ago: no other process can lead before the work has
   * settled, as long as heartbeats arrive. The supervisor doesn't go on before that. Restart a process that stays wedged.
   */
  readonly wedged: boolean;
  /** Why, in a few words each; empty when all is well. */
  readonly reasons: readonly string[];
}

/** The time, and until when the supervisor stays out of the election, both by its clock. */
export interface HealthTimes {
  readonly now: number;
  readonly coolUntil: number;
}

const WELL: Health = { live: true, ready: true, leading: false, wedged: false, reasons: [] };

export function healthOf(state: SupervisorState<OpenCandidacy>, times: HealthTimes): Health {
  if ('participation' in state) return candidateHealth(state.participation, times);
  return { ...WELL, ready: false, ...outsideHealth(state, times) };
}

/** The health of a supervisor that doesn't take part now: whether it will do so by itself, and why it doesn't now. */
export function outsideHealth(
  state: Exclude<SupervisorState<never>, { readonly participation: never }>,
  times: HealthTimes,
): Pick<Health, 'live' | 'reasons'> {
  switch (state.name) {
    case 'idle':
      return { live: false, reasons: ['not started'] };
    case 'connecting':
      return {
        live: true,
        reasons: [`no session for ${since(state.sinceMs, times)} ms, attempt ${state.attempt}`],
      };
    case 'pausing':
      return { live: true, reasons: [`${state.why}; tries again in ${until(state.untilMs, times)} ms`] };
    case 'cleaning': {
      const again = state.attempt > 1 ? `, attempt ${state.attempt}` : '';
      return { live: true, reasons: [`the clean-up hook runs${again}`] };
    }
    case 'cooling':
      return { live: true, reasons: [coolsDown(times)] };
    case 'stopped':
      return { live: false, reasons: ['stopped'] };
  }
}

function candidateHealth({ elector, session }: OpenCandidacy, times: HealthTimes): Health {
  const serverLost = session.state.name === 'suspended';
  const reasons = serverLost ? [`no server for ${since(session.state.sinceMs, times)} ms`] : [];
  // `isHeld()` ends a term whose lease is over: the state is read after that.
  if (elector.state.name === 'leading' && elector.state.term.isHeld()) {
    const { preparingMs } = elector;
    if (preparingMs !== undefined)
      reasons.unshift(`lead has waited for prepare for ${preparingMs} ms in the term`);
    return { ...WELL, leading: true, reasons };
  }
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
      const work = wedged ? `its work still runs, ${beyond}` : 'its work still has to settle';
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

function coolsDown(times: HealthTimes): string {
  return `cools down after a loss, for another ${until(times.coolUntil, times)} ms`;
}

function until(ms: number, { now }: HealthTimes): number {
  return Math.ceil(Math.max(0, ms - now));
}

function since(ms: number, { now }: HealthTimes): number {
  return Math.round(now - ms);
}

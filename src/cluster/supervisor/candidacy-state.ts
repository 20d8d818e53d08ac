import type { LeaderElector } from '../../election/elector.js';
import type { Term } from '../../election/term/term.js';
import type { StopWait } from '../../errors.js';
import type { Session } from '../../session/session.js';
import type { ShutdownProgress } from './signal-shutdown.js';
import type { SupervisorState } from './supervisor-state.js';

/** The elector of a candidacy that is under way, and the session that it belongs to. */
export interface OpenCandidacy {
  readonly elector: LeaderElector;
  readonly session: Session;
}

/** The term that a supervisor in that state leads, or whose work still has to settle. */
export function termOf(state: SupervisorState<OpenCandidacy>): Term | undefined {
  if (!('participation' in state)) return undefined;
  const elector = state.participation.elector.state;
  return 'term' in elector ? elector.term : undefined;
}

/** The reason why the stop of a candidacy isn't done yet. */
export function holdUpOfCandidacy({ elector }: OpenCandidacy): StopWait {
  const hasLeft = elector.state.name === 'stopped' || elector.state.name === 'expired';
  return hasLeft ? { by: 'servers', what: 'the session still has to be closed' } : elector.holdUp;
}

/** What a shutdown that hangs waits for, in words. */
export function whatIsLeft(progress: ShutdownProgress, state: SupervisorState<OpenCandidacy>): string {
  if (state.name === 'cleaning') return "the supervisor's clean-up hook still runs";
  switch (progress) {
    case 'settling': {
      const term = termOf(state);
      return term === undefined
        ? 'the election still has to be left'
        : `the work of term ${term.number} still runs`;
    }
    case 'cleaning':
      return 'the clean-up of the shutdown still runs';
    case 'leaving': {
      const elector = 'participation' in state ? state.participation.elector.state : undefined;
      const released = elector === undefined || elector.name === 'stopped' || elector.name === 'expired';
      return released
        ? 'the session still has to be closed'
        : 'the place in the election still has to be given back';
    }
  }
}

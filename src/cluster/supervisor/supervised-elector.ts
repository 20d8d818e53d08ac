import type { CandidateMemory } from '../../election/candidate-memory.js';
import { LeaderElector } from '../../election/leader-elector.js';
import type { Term } from '../../election/term/term.js';
import { SessionExpiredError, type StopWait } from '../../errors.js';
import { abortable, deferred, ignore } from '../../platform/async/promises.js';
import type { Session } from '../../session/session.js';
import { registerWithGuardian } from '../dead-children/register-with-guardian.js';
import type { TermLoss } from './cleanup-hook.js';
import type { ElectionSupervisorEvents, EmitEvent } from './election-supervisor-events.js';
import type { ResolvedSupervisorOptions } from './election-supervisor-options.js';
import type { ShutdownProgress } from './signal-shutdown.js';
import type { Participation, SupervisorState } from './supervisor-state.js';

export interface CandidacyPort {
  readonly emit: EmitEvent<ElectionSupervisorEvents>;
  readonly report: (thrown: unknown) => void;
  /** Called when a term's work has settled, before the term is given back. Must not reject. */
  beforeRelease(): Promise<void> | undefined;
}

/** One session with its elector, until the session ends or a term is lost. It relays the elector's events, and says what was lost. */
export class SupervisedElector implements Participation<TermLoss> {
  readonly session: Session;
  readonly elector: LeaderElector;
  /** The term that was lost. Known once its work has settled. */
  #lost: TermLoss | undefined;

  constructor(
    session: Session,
    { path, id, candidacy, guardian, logger }: ResolvedSupervisorOptions,
    memory: CandidateMemory,
    port: CandidacyPort,
  ) {
    this.session = session;
    this.elector = new LeaderElector(session, path, { ...candidacy, id, logger });
    this.elector.useMemory(memory);
    if (guardian) registerWithGuardian(session, this.elector);
    this.#relay(port);
    this.elector.beforeRelease(async (term, lostFor) => {
      // The clean-up of a shutdown comes after the clean-up of the loss.
      if (lostFor === undefined) return await port.beforeRelease();
      this.#lost = { term, reason: lostFor };
      void this.elector.withdraw(); // It mustn't join again before the clean-up. Never rejects.
    });
  }

  /**
   * The loss of a candidacy that the supervisor is leaving; `undefined` if it was only stopped. Read it before this process
   * closes the session.
   */
  get loss(): TermLoss | undefined {
    const { ended } = this.session;
    const term = this.#lost?.term;
    if (ended.reason instanceof SessionExpiredError) return { term, reason: 'session-expired' };
    if (this.#lost !== undefined) return this.#lost;
    return ended.aborted ? { term, reason: 'stopped' } : undefined;
  }

  /** Resolves once it has a place in the queue. @throws as `LeaderElector.start` does */
  start(): Promise<void> {
    return this.elector.start();
  }

  withdraw(): Promise<void> {
    return this.elector.withdraw();
  }

  /**
   * Resolves when the session has ended, when a term is lost and its work has settled, or at `stop`.
   *
   * If the term was lost with no server in reach, the next server says whether the session has expired as well. A supervisor
   * that is stopped doesn't wait for that.
   */
  async untilEnded(stop: AbortSignal): Promise<void> {
    const { session, elector } = this;
    const stopped = deferred();
    elector.once('stopped', stopped.resolve);
    // A rejection says only that the session has ended, or that the supervisor is stopped.
    if (elector.state.name !== 'stopped') await abortable(stopped.promise, session.ended, stop).catch(ignore);
    elector.off('stopped', stopped.resolve);
    if (this.#lost !== undefined && session.state.name === 'suspended')
      await abortable(session.whenConnected(), session.ended, stop).catch(ignore); // `loss` says what has come of it.
  }

  #relay({ emit, report }: CandidacyPort): void {
    this.elector
      .on('waiting', (place) => emit('waiting', place))
      .on('elected', (term) => emit('elected', term))
      .on('demoted', (term, reason) => emit('demoted', term, reason))
      .on('error', report);
    this.session.on('expired', () => emit('expired')); // The elector may have left by then.
  }
}

/** The elector of a candidacy that is under way, and the session that it belongs to. */
export type OpenCandidacy = Pick<SupervisedElector, 'elector' | 'session'>;

/** The term that a supervisor in that state leads, or whose work still has to settle. */
export function termOf(state: SupervisorState<OpenCandidacy>): Term | undefined {
  if (!('participation' in state)) return undefined;
  const elector = state.participation.elector.state;
  return 'term' in elector ? elector.term : undefined;
}

/** The reason why the stop of a candidacy isn't done yet. */
export function holdUpOfCandidacy({ elector }: OpenCandidacy): StopWait {
  return hasLeft(elector) ? { by: 'servers', what: SESSION_IS_LEFT } : elector.holdUp;
}

const SESSION_IS_LEFT = 'the session still has to be closed';

function hasLeft({ state }: LeaderElector): boolean {
  return state.name === 'stopped' || state.name === 'expired';
}

/** What a shutdown that hangs waits for, in words. */
export function whatIsLeft(progress: ShutdownProgress, state: SupervisorState<OpenCandidacy>): string {
  if (state.name === 'cleaning') return "the supervisor's clean-up hook still runs";
  if (progress === 'cleaning') return 'the clean-up of the shutdown still runs';
  const elector = 'participation' in state ? state.participation.elector : undefined;
  if (progress === 'leaving')
    return elector === undefined || hasLeft(elector)
      ? SESSION_IS_LEFT
      : 'the place in the election still has to be given back';
  if (elector?.state.name === 'leading') return elector.holdUp.what; // With `waitForPreparedMs`.
  const term = termOf(state);
  return term === undefined
    ? 'the election still has to be left'
    : `the work of term ${term.number} still runs`;
}

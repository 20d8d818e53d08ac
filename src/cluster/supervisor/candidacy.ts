import { LeaderElector } from '../../election/elector.js';
import { isLoss } from '../../election/term/loss.js';
import type { Term } from '../../election/term/term.js';
import { SessionExpiredError, TermEndedError } from '../../errors.js';
import { onAbort } from '../../platform/async/lazy-abort.js';
import { deferred } from '../../platform/async/promises.js';
import type { Session } from '../../session/session.js';
import { registerWithGuardian } from '../guardian/guardian-link.js';
import type { OpenCandidacy } from './candidacy-state.js';
import type { TermLoss } from './cleanup-hook.js';
import type { Cooldown } from './lost-term-cooldown.js';
import type { Participation } from './participation.js';
import type { EmitEvent } from './supervisor-events.js';
import type { ResolvedSupervisorOptions } from './supervisor-options.js';

export interface CandidacyPort {
  readonly emit: EmitEvent;
  readonly report: (thrown: unknown) => void;
  /** Called when a term's work has settled, before the term is given back. Must not reject. */
  beforeRelease(): Promise<void> | undefined;
}

/** One session with its elector: relays the elector's events, and says what was lost when the two have ended. */
export class Candidacy implements Participation<TermLoss>, OpenCandidacy {
  readonly session: Session;
  readonly elector: LeaderElector;
  /** Its last term, until it has a place in the queue again. If the session ends, this term is lost. */
  #lostTerm: Term | undefined;
  /** Whether the session ended, or the elector couldn't go on, before the supervisor was stopped. */
  #hasEndedByItself = false;

  constructor(
    session: Session,
    { path, id, candidacy, guardian, logger }: ResolvedSupervisorOptions,
    cooldown: Cooldown,
    port: CandidacyPort,
  ) {
    this.session = session;
    this.elector = new LeaderElector(session, path, { ...candidacy, id, logger });
    if (guardian) registerWithGuardian(session, this.elector);
    this.#relay(cooldown, port);
    // If there is nothing left to give back, the clean-up of a shutdown comes after the clean-up of the loss.
    this.elector.beforeRelease(async () => {
      if (this.loss === undefined) await port.beforeRelease();
    });
  }

  /**
   * The loss of a candidacy that the supervisor is leaving; `undefined` if it was only stopped. Read it before this process
   * closes the session.
   *
   * A lease that has ended with no server in reach is a loss too. A supervisor that goes on learns from the next server whether
   * the session has expired. A supervisor that stops doesn't wait for a server: it is better to clean up once too often.
   */
  get loss(): TermLoss | undefined {
    const { session } = this;
    const term = this.#lostTerm;
    if (session.ended.reason instanceof SessionExpiredError) return { term, reason: 'session-expired' };
    if (session.ended.aborted || this.#hasEndedByItself) return { term, reason: 'stopped' };
    const isUnsure = session.state.name === 'suspended' && term !== undefined && hasLapsed(term);
    return isUnsure ? { term, reason: 'lease-expired' } : undefined;
  }

  /** Resolves once it has a place in the queue. @throws as `LeaderElector.start` does */
  start(): Promise<void> {
    return this.elector.start();
  }

  withdraw(): Promise<void> {
    return this.elector.withdraw();
  }

  /**
   * Resolves when the session has ended, when the elector has stopped by itself since it can't take part in this election, or at `stop`.
   */
  async untilEnded(stop: AbortSignal): Promise<void> {
    const { session, elector } = this;
    const ended = deferred();
    const unsubscribe = [onAbort(session.ended, ended.resolve), onAbort(stop, ended.resolve)];
    elector.once('stopped', ended.resolve);
    if (elector.state.name !== 'stopped') await ended.promise;
    elector.off('stopped', ended.resolve);
    for (const each of unsubscribe) each();
    this.#hasEndedByItself = !stop.aborted;
  }

  #relay(cooldown: Cooldown, { emit, report }: CandidacyPort): void {
    const { clock } = this.session;
    let electedAt = 0;
    this.elector
      .on('waiting', (place) => {
        this.#lostTerm = undefined;
        emit('waiting', place);
      })
      .on('elected', (term) => {
        this.#lostTerm = undefined;
        electedAt = clock.now();
        emit('elected', term);
      })
      .on('demoted', (term, reason) => {
        // The lease often ends before the session's end is known: that is the same loss. `stopped`: the application closed the session.
        if (isLoss(reason) || reason === 'stopped') this.#lostTerm = term;
        const { sessionTimeoutMs } = this.session;
        cooldown.termEnded({ reason, lastedMs: clock.now() - electedAt, sessionTimeoutMs });
        this.elector.standAgainAt(cooldown.untilMs);
        emit('demoted', term, reason);
      })
      .on('expired', () => emit('expired'))
      .on('error', report);
  }
}

function hasLapsed(term: Term): boolean {
  const end: unknown = term.signal.reason;
  return end instanceof TermEndedError && end.reason === 'lease-expired';
}

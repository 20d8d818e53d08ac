import { mark } from '../classes/copies.js';
import { showAs } from '../classes/inspection.js';
import {
  type DemotionReason,
  describe,
  InvalidOptionError,
  InvalidStateError,
  LeadError,
  type ListenerError,
  NodeLostError,
  NoNodeError,
  SeatsMismatchError,
  SessionExpiredError,
  type StopWait,
  WorkOverrunError,
} from '../errors.js';
import type { Contender } from '../lock/queue/contender.js';
import { joinQueue, withdraw } from '../lock/queue/join.js';
import { parseEntry } from '../lock/queue/order.js';
import { EXCLUSIVE, type TurnRule } from '../lock/queue/turn-rule.js';
import { LazyAbortController, onAbort } from '../platform/async/lazy-abort.js';
import {
  abortable,
  anyAbort,
  type Deferred,
  deferred,
  ignore,
  settledWithin,
} from '../platform/async/promises.js';
import { markStopped, type StartOptions, start } from '../platform/async/starting.js';
import { resolveStop, type StopOptions, Stopping } from '../platform/async/stopping.js';
import { checkInstance, checkMetadata, checkPath } from '../platform/checks.js';
import { logError } from '../platform/logging/logger.js';
import { type EventNames, SafeEmitter } from '../platform/safe-emitter.js';
import { lowerBoundNow, sleep } from '../platform/time/clock.js';
import { Session } from '../session/session.js';
import { Advertisement } from './advertisement.js';
import { callLead } from './call-lead.js';
import { Campaign, type CampaignListener } from './campaign.js';
import { Demotion } from './demotion.js';
import {
  type LeaderElectorOptions,
  type ResolvedElectorOptions,
  resolveElectorOptions,
} from './elector-options.js';
import { ELECTOR_EVENTS, type ElectorState, holdUpOf, type LeaderElectorEvents } from './elector-state.js';
import type { Candidate } from './nodes/candidate.js';
import { ElectionReader, leadersOf } from './nodes/election-reader.js';
import { uuidWithPriority } from './nodes/priority.js';
import type { ExpectedRecord } from './nodes/record.js';
import { RejoinBackoff } from './rejoin-backoff.js';
import { RequestHandler } from './request-handler.js';
import type { NextInLine } from './successor/next-in-line.js';
import { ReleasePlan } from './successor/release-plan.js';
import { Successor } from './successor/successor.js';
import type { Claim } from './term/claim.js';
import type { Claims } from './term/claimant.js';
import { claimsOf } from './term/seat-claimant.js';
import { describeTerm, ElectedTerm, type Term, type TermEnding } from './term/term.js';
import { Watchdog } from './watchdog/watchdog.js';

/** The reason with which `stop()` interrupts what the elector waits for. Never seen outside. */
class StopRequest extends Error {}

/**
 * One candidate in an election: waits for its turn, leads, gives the term back, and stands again.
 *
 * It belongs to one session and is finished when that is over; `ElectionSupervisor` is what lives on.
 *
 * Guaranteed: leadership goes in the order of joining, to one at a time; a term's signal aborts before `demoted`; a
 * leader's work has settled before the term is given back, as long as its session lives. See {@link Term} for what is
 * guaranteed about acting.
 *
 * @example
 * ```ts
 * const elector = new LeaderElector(session, '/elections/scheduler', {
 *   lead: async (term) => {
 *     while (term.isHeld()) await runNextJob({ token: term.token, signal: term.signal });
 *   },
 * });
 * elector.on('error', (error) => console.error(error));
 * await elector.start();
 * ```
 */
export class LeaderElector extends SafeEmitter<LeaderElectorEvents> {
  /** What it calls itself. */
  readonly id: string;
  /** The election's path. */
  readonly path: string;
  readonly #session: Session;
  readonly #options: ResolvedElectorOptions;
  readonly #claims: Claims;
  readonly #advertisement: Advertisement;
  readonly #successor: Successor;
  readonly #petitions: RequestHandler;
  readonly #stop = new LazyAbortController();
  readonly #stopping: Stopping;
  readonly #restraint = new RejoinBackoff();
  readonly #campaigning: Omit<CampaignListener, 'onClaimSent'> = {
    onWaiting: (place) => {
      this.#become({ name: 'waiting', ...place });
      this.#placed.resolve();
      this.emit('waiting', place);
    },
    onClaiming: () => {
      this.#become({ name: 'claiming' });
      this.#placed.resolve();
    },
  };
  #state: ElectorState<ElectedTerm> = { name: 'idle' };
  #contender: Contender | undefined;
  /** Of the last term whose node was seen to be gone. */
  #demotion: Demotion | undefined;
  #watchdog: Watchdog | undefined;
  /** Settles when it has a place in the queue again, or never will. */
  #placed: Deferred<void> = deferred();
  #running: Promise<void> = Promise.resolve();
  /** Since when `stop` waits for the servers; not for the leader's work. */
  #waitingSince: number | undefined;
  #beforeRelease: (() => Promise<void>) | undefined;

  /** @throws InvalidOptionError if the path or an option is wrong */
  constructor(session: Session, path: string, options?: LeaderElectorOptions) {
    super();
    this.#session = checkInstance('session', session, Session);
    this.path = checkPath('path', path);
    this.#options = resolveElectorOptions(options, this.#session);
    this.id = this.#options.id;
    this.#advertisement = new Advertisement(this.id, this.#options.data);
    this.#successor = new Successor(session, path);
    const report = (error: Error) => this.#report(error);
    const graceMs = () => session.leaseMs;
    this.#stopping = new Stopping({ clock: session.clock, graceMs, holdUp: () => this.holdUp, report });
    this.#petitions = new RequestHandler(session, this.#options.onRevoke, {
      leading: () => (this.#state.name === 'leading' ? this.#state.term : undefined),
      stepDown: (term, settleBy) => this.#endTerm(term, 'revoked', { settleBy }),
      report,
    });
    this.#claims = claimsOf(session, path, this.id, this.#options);
  }

  /** The session that it stands with. */
  get session(): Session {
    return this.#session;
  }

  get state(): ElectorState {
    return this.#state;
  }

  /** The term that this elector leads, while it does. */
  get term(): Term | undefined {
    return this.#state.name === 'leading' ? this.#state.term : undefined;
  }

  /** Whether this elector leads at this very moment: `term.isHeld()` of the term that it leads, if it does. */
  get isLeader(): boolean {
    return this.term?.isHeld() ?? false;
  }

  /**
   * Stands for election. Resolves once it has a place in the queue, and watches the one ahead of it; a second call gives the
   * first one's promise. That it rejects has to be handled, as of any promise; not if the elector was stopped.
   *
   * @throws InvalidOptionError if an option is wrong, or the reason of `options.signal` if that aborts before
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws InvalidStateError if it was stopped, before or meanwhile
   * @throws SeatsMismatchError if the election has another number of seats: the elector is stopped then
   * @throws UnreadableNodeError if it may not read the node ahead of it, of whose end it would never be told: the elector is
   *   stopped then. If such a node comes ahead of it later, that is an `error`; it leaves, and stands again after a while
   * @throws ZooKeeperError if a server refuses, for lack of permission say: the elector is stopped then
   */
  start(options?: StartOptions): Promise<void> {
    return start(options, { begin: () => this.#start(), stop: () => this.stop() });
  }

  #start(): Promise<void> {
    if (this.#state.name === 'stopped' || this.#state.name === 'expired') {
      return Promise.reject(new InvalidStateError(`the elector has ${this.#state.name}: make a new one`));
    }
    if (this.#state.name === 'idle') {
      this.#become({ name: 'starting' });
      if (this.#options.watchdog) this.#watchdog = new Watchdog((error) => this.#report(error));
      this.#running = this.#run();
    }
    return this.#placed.promise;
  }

  /**
   * Ends its term cleanly and goes to the back of the queue. Resolves once it has a place there, or has stopped;
   * called from inside the leader's work, as soon as the term's signal has aborted. Does nothing unless it leads.
   *
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   */
  async resign(): Promise<void> {
    if (this.#state.name === 'leading') this.#endTerm(this.#state.term, 'resigned');
    if (this.#state.name !== 'ending' || this.#isOwnWork()) return;
    await this.#placed.promise;
  }

  /**
   * Ends its term cleanly in favour of a candidate anywhere in the queue: those ahead of that one let it lead first, and
   * keep their places. If it is gone by then, or doesn't claim within a lease, the queue decides. Resolves as
   * {@link LeaderElector.resign} does.
   *
   * @param candidate - its id or the name of its node; of several with that id the first in the queue
   * @throws InvalidStateError unless it leads, and goes on to until the candidate was called
   * @throws NoCandidateError if there is no such candidate, or it is one of another client; the term goes on
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   */
  async handOver(candidate: string): Promise<void> {
    if (this.#state.name !== 'leading') throw new InvalidStateError('only a leader can hand over');
    if (this.#options.seats > 1)
      throw new InvalidStateError('with several seats the queue decides who leads next');
    const { term } = this.#state;
    const successor = await this.#successor.nominate(candidate, this.#contender as Contender);
    // It took its time: the term may have been lost meanwhile, and even another one be led.
    if (this.term !== term) throw new InvalidStateError('the term ended before it was handed over');
    this.#endTerm(term, 'resigned', { successor });
    await this.resign();
  }

  /**
   * Leaves the election. Resolves when the leader's work has settled and the node is gone, or the session is over;
   * while no server can be reached, after a lease and a half at most, and the node is deleted as soon as one can be. Called
   * from inside the leader's work (`lead`, or a function given to `waitUntil`), resolves as soon as the term's signal has
   * aborted.
   *
   * The work is waited for as long as it takes, and nothing is given back before, since it may still be acting. If it takes
   * longer than a lease, `error` says so once. A call that rejects for its `timeoutMs` has asked for the end all the same.
   *
   * @throws StopPendingError if it isn't done within `options.timeoutMs`; says what still runs
   * @throws InvalidOptionError if an option is wrong: it isn't stopped then
   */
  async stop(options?: StopOptions): Promise<void> {
    const timeoutMs = resolveStop(options);
    const left = this.withdraw();
    this.#stopping.watch();
    await this.#stopping.wait(left, timeoutMs);
  }

  /** What {@link LeaderElector.stop} does, for a supervisor, which itself says what it waits for. Never rejects. @internal */
  async withdraw(): Promise<void> {
    if (!this.#stop.aborted) {
      markStopped(this.#placed.promise);
      this.#waitingSince = lowerBoundNow(this.#session.clock);
      this.#stopping.begin();
      this.#stop.abortFor(() => new StopRequest());
      if (this.#state.name === 'leading') this.#endTerm(this.#state.term, 'stopped');
      else if (this.#state.name === 'idle') this.#finish();
    }
    if (!this.#isOwnWork()) await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Has `task` done when the term's work has settled, before the term is given back, from the next end of a term on.
   *
   * @internal
   * @param task - must not reject
   */
  beforeRelease(task: () => Promise<void>): void {
    this.#beforeRelease = task;
  }

  /** Whether the work of a term goes on though its lease is over: it may be acting beside another leader. @internal */
  get isWedged(): boolean {
    return this.#state.name === 'ending' && this.#state.term.hasOverrun;
  }

  /** Whether the work of a term goes on though it was to stop a lease ago: nobody can lead. @internal */
  get isOverdue(): boolean {
    return this.#state.name === 'ending' && this.#state.term.hasWork && this.#stopping.isOverdue;
  }

  /** What holds up its stop. @internal */
  get holdUp(): StopWait {
    return holdUpOf(this.#state);
  }

  /** After the term that it leads, it stands again no sooner than at `atMs` by the session's clock. @internal */
  standAgainAt(atMs: number): void {
    this.#restraint.notBefore(atMs);
  }

  /**
   * Changes what the others see of it, without another election.
   *
   * @throws InvalidOptionError if it isn't a string or bytes, or is over 16 KiB
   * @throws InvalidStateError if the elector has stopped
   * @throws what ended the session, or a `ZooKeeperError` if a server refuses
   */
  async advertise(data: string | Uint8Array): Promise<void> {
    if (checkMetadata('data', data) === undefined)
      throw new InvalidOptionError('data', data, 'a string or a Uint8Array');
    this.#session.ended.throwIfAborted();
    if (this.#state.name === 'stopped') throw new InvalidStateError('the elector has stopped');
    this.#advertisement.change(data);
    // Without a node, the next one is created with it.
    if (this.#contender !== undefined) await this.#advertisement.publish(this.#session, this.#contender.node);
  }

  /** The candidates, in the order in which they will lead. What they tell of themselves may be a moment old. */
  candidates(): Promise<Candidate[]> {
    return new ElectionReader(this.#session, this.path).candidates();
  }

  /**
   * Who holds the current term, by the record; `undefined` if nobody does. It may have changed since. With several seats
   * the leader of the first one that is taken.
   */
  async leader(): Promise<Candidate | undefined> {
    return (await this.leaders()).find((leader) => leader !== undefined);
  }

  /** Who leads on each seat, from seat 0, as {@link LeaderElector.leader} tells it of one. */
  leaders(): Promise<(Candidate | undefined)[]> {
    return leadersOf(this.#session, this.path, this.#options.seats);
  }

  /** The claim of the term that is led or being ended, for the guardian of this process. @internal */
  get claim(): Claim | undefined {
    return 'term' in this.#state ? this.#state.term.claim : undefined;
  }

  // ---- the election, one paragraph ----

  /** One passage through the queue: join, wait for the one ahead, claim, lead, release. */
  async #stand(): Promise<void> {
    const { contender, seen } = await this.#join();
    try {
      const outlook = this.#outlook(contender);
      const listener = { ...this.#campaigning, onClaimSent: () => outlook?.list() };
      // Everybody ahead must be gone, or all but those for whom there are other seats.
      const rule: TurnRule = { ...EXCLUSIVE, capacity: this.#options.seats - 1 };
      const campaign = new Campaign(contender, this.#claims, rule, listener, seen);
      this.#petitions.handle(contender, campaign);
      await this.#advertisement.publish(this.#session, contender.node, this.#stop);
      const claim = await campaign.untilElected(this.#stop);
      const next = await this.#lead(contender, claim, campaign, outlook);
      void this.#claims.release(contender, claim, next); // Never rejects; waited for below.
    } finally {
      await this.#leave(contender);
    }
  }

  /** Stands again and again, until it is stopped or the session is over. Never rejects. */
  async #run(): Promise<void> {
    const forget = onAbort(this.#session.ended, () => this.#onSessionOver());
    while (!this.#stop.aborted && !this.#session.ended.aborted) {
      try {
        await this.#stand();
        await this.#coolDown();
      } catch (error) {
        if (!(await this.#goesOnAfter(error))) break;
      }
    }
    forget();
    this.#finish();
  }

  /** Gives its place, and what it has seen of the record meanwhile. */
  async #join(): Promise<{ contender: Contender; seen: ExpectedRecord | undefined }> {
    if (this.#state.name !== 'starting') this.#become({ name: 'joining' });
    const { bytes, revision } = this.#advertisement;
    const id = uuidWithPriority(this.#session.environment.uuid(), this.#options.priority);
    const preparing = this.#claims.prepare();
    const signal = this.#stop;
    const joining = joinQueue(this.#session, this.path, { id, data: bytes, parse: parseEntry, signal });
    let seen: ExpectedRecord | undefined;
    try {
      const announced = joining.then((contender) => this.#announce(contender));
      [this.#contender, seen] = await abortable(Promise.all([joining, preparing, announced]), signal);
    } catch (error) {
      await this.#goneOrUnreachable(withdraw(joining));
      throw error;
    }
    this.#advertisement.created(revision);
    return { contender: this.#contender, seen };
  }

  /** Who has a priority tells the leader before it says that it has a place: from then on it is reckoned with. */
  async #announce(contender: Contender): Promise<void> {
    if (this.#options.priority > 0) await this.#successor.reportPriority(contender);
  }

  /** From the term's beginning until its work has settled. Gives who leads next, as far as that is known. */
  async #lead(
    contender: Contender,
    claim: Claim,
    campaign: Campaign,
    outlook: ReleasePlan | undefined,
  ): Promise<NextInLine> {
    // Stopped, or lost, between the claim and now: the term is given back before anybody has heard of it.
    if (this.#stop.aborted || !contender.node.isHeld()) return (await outlook?.next()) ?? {};
    const { clock } = this.#session;
    const { lead, logger } = this.#options;
    const beganAt = lowerBoundNow(clock);
    const ended = deferred();
    const term: ElectedTerm = new ElectedTerm(
      claim,
      contender.node,
      clock,
      (reason, cause) => this.#endTerm(term, reason, { cause }),
      (cause) => this.#report(new LeadError(term.number, cause)),
    );
    term.whenEnded(ended.resolve);
    this.#become({ name: 'leading', term });
    this.#watchdog?.guard(contender.node, term.signal);
    logger.info(describeTerm(term), 'elected');
    term.run(() => {
      this.emit('elected', term);
      if (lead !== undefined)
        term.lead(
          () => callLead(lead, term, logger),
          () => this.#endTerm(term, 'finished'),
        );
    });
    this.#petitions.handle(contender, campaign); // What was asked between the claim and now.
    await ended.promise;
    const { successor } = term.ending;
    const next = successor === undefined ? outlook?.next() : { successor }; // While the work settles.
    const takesTime = term.hasWork || this.#beforeRelease !== undefined;
    await term.settled(() => this.#onOverrun(term));
    await this.#demotion?.told;
    await this.#beforeRelease?.();
    if (takesTime && this.#stop.aborted) this.#waitingSince = lowerBoundNow(clock);
    this.#restraint.note(term.endedFor === 'finished' && clock.now() - beganAt < this.#session.leaseMs);
    return (await next) ?? {};
  }

  /** For those with a priority, if there may be any: with several seats the queue decides. */
  #outlook(contender: Contender): ReleasePlan | undefined {
    if (this.#options.seats > 1) return undefined;
    return new ReleasePlan(this.#session, this.#successor, contender, () => this.#petitions.lastRead);
  }

  /**
   * The only way in which a term ends: state, signal, event, in this order. The first reason counts; but for a node that is
   * gone the event waits until it is known why.
   */
  #endTerm(term: ElectedTerm, reason: DemotionReason, how: TermEnding = {}): void {
    if (this.#state.name !== 'leading' || this.#state.term !== term) return;
    this.#placed = deferred();
    this.#placed.promise.catch(ignore); // Whoever calls `resign` sees it.
    this.#become({ name: 'ending', term, reason });
    term.end(reason, how);
    if (reason !== 'node-deleted') return this.#tellOfEnd(term, reason);
    this.#demotion = new Demotion(this.#session, term.claim.node, (why) => this.#tellOfEnd(term, why));
  }

  #tellOfEnd(term: ElectedTerm, reason: DemotionReason): void {
    this.#become({ name: 'ending', term, reason });
    this.#options.logger.info(describeTerm(term, reason), 'demoted');
    this.emit('demoted', term, reason);
  }

  #onSessionOver(): void {
    const reason = this.#session.ended.reason as Error;
    const expired = reason instanceof SessionExpiredError;
    if (this.#state.name === 'leading')
      this.#endTerm(this.#state.term, expired ? 'session-expired' : 'stopped', { cause: reason });
    this.#demotion?.conclude(); // Before the others hear of the session's end.
    if (!expired) return;
    if (this.#state.name !== 'ending') this.#become({ name: 'expired' });
    this.emit('expired');
  }

  #onOverrun(term: Term): void {
    this.#report(new WorkOverrunError(term.number));
    if (this.#options.onOverrun === 'exit') process.exit(70);
  }

  /** Whether to stand again. What can't be mended by standing again ends the elector, or `start()` if that still waits. */
  async #goesOnAfter(error: unknown): Promise<boolean> {
    if (this.#stop.aborted || this.#session.ended.aborted) return false;
    if (error instanceof NodeLostError || error instanceof NoNodeError) {
      this.#claims.notePlaceLost(); // Somebody deleted the node.
      return true;
    }
    this.#report(error instanceof Error ? error : new Error(describe(error)));
    if (this.#state.name === 'starting') this.#placed.reject(error);
    // In another election than this one is, standing again would only be in the way of the others.
    if (this.#state.name === 'starting' || error instanceof SeatsMismatchError) return false;
    this.#restraint.note(true);
    await this.#coolDown();
    return true;
  }

  async #coolDown(): Promise<void> {
    const { clock, environment, ended: over } = this.#session;
    const ms = this.#restraint.pauseMs(environment);
    if (ms <= 0) return;
    this.#become({ name: 'joining' });
    const { controller, unsubscribe } = anyAbort(this.#stop, over);
    await sleep(clock, ms, controller).catch(ignore); // Seen by the loop.
    unsubscribe();
  }

  /** The last word, whatever led to it. */
  #finish(): void {
    this.#watchdog?.stop();
    this.#stopping.end();
    const over: unknown = this.#session.ended.reason;
    if (over !== undefined) this.#placed.reject(over);
    else if (this.#state.name === 'starting')
      this.#placed.reject(new InvalidStateError('stopped before it had a place'));
    else this.#placed.resolve();
    if (over instanceof SessionExpiredError) return this.#become({ name: 'expired' });
    this.#become({ name: 'stopped' });
    this.emit('stopped');
  }

  async #leave(contender: Contender): Promise<void> {
    this.#contender = undefined;
    await this.#goneOrUnreachable(contender.leave());
  }

  /** Waits for a node to be gone, but no longer than it takes to see that no server can be reached. */
  #goneOrUnreachable(leaving: Promise<void>): Promise<void> {
    const { clock, leaseMs } = this.#session;
    // What `stop` has waited for already, the outcome of a claim say, counts.
    const waitedMs = this.#waitingSince === undefined ? 0 : lowerBoundNow(clock) - this.#waitingSince;
    return settledWithin(clock, leaving, Math.max(0, leaseMs - waitedMs));
  }

  /** The only place that writes the state. */
  #become(next: ElectorState<ElectedTerm>): void {
    if (this.#state.name === 'expired') return; // What was under way notices a moment later.
    this.#state = next;
  }

  /** Tells a call from inside the leader's work, which mustn't wait for the end of that work. */
  #isOwnWork(): boolean {
    const { name } = this.#state;
    if (name !== 'ending' || !this.#state.term.hasWork) return false;
    return this.#state.term.isAround;
  }

  #report(error: Error): void {
    logError(this.#options.logger, error, 'something went wrong in the election', this);
    this.emit('error', error);
  }

  /** @internal */
  protected override get knownEvents(): EventNames<LeaderElectorEvents> {
    return ELECTOR_EVENTS;
  }

  protected override reportListenerError(error: ListenerError): void {
    if (error.event === 'error') this.#options.logger.error({ cause: describe(error) }, 'a listener failed');
    else this.#report(error);
  }
}

mark(LeaderElector, 'LeaderElector');
showAs(LeaderElector, ({ id, path, state: { name: state }, term }) => ({
  id,
  path,
  state,
  ...(term && { term }),
}));

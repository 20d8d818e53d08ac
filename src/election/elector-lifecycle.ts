// Imports more than 15 modules: the one place that knows all parts of an election; seven of the 19 are ground leaves.
import {
  type DemotionReason,
  describe,
  InvalidStateError,
  LeadError,
  NodeLostError,
  NoNodeError,
  SeatsMismatchError,
  SessionExpiredError,
  type StopWait,
  WorkOverrunError,
} from '../errors.js';
import type { QueuePosition } from '../lock/queue/turn-wait.js';
import { LazyAbortController, onAbort } from '../platform/async/lazy-abort.js';
import { anyAbort, type Deferred, deferred, ignore, settledWithin } from '../platform/async/promises.js';
import { markStopped } from '../platform/async/starting.js';
import { type StopPort, Stopping } from '../platform/async/stopping.js';
import { expectWork } from '../platform/async/work-context.js';
import { type Clock, lowerBoundNow, sleep } from '../platform/time/clock.js';
import type { Session } from '../session/session.js';
import { Advertisement } from './advertisement.js';
import { Demotion } from './demotion.js';
import { logDemotion, logElection, logRelease } from './elector-log.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import { type ElectorPort, holdUpOf, type LifecycleState } from './elector-state.js';
import { QueuePlace, type QueuePlaceHost } from './queue-place.js';
import { RejoinBackoff } from './rejoin-backoff.js';
import type { MarkedSuccessor } from './successor/successor.js';
import type { Claim } from './term/claim.js';
import { ElectedTerm, type TermEnding } from './term/elected-term.js';
import { claimsOf } from './term/seat-claimant.js';
import { Watchdog } from './watchdog/watchdog.js';

/** The reason with which a stop interrupts what the elector waits for. Never seen outside. */
class StopRequest extends Error {}

/** The life of an elector: its states ({@link ElectorState}), what leads from one to the next, and what it does in each. */
export class ElectorLifecycle implements QueuePlaceHost, StopPort {
  readonly session: Session;
  readonly clock: Clock;
  readonly path: string;
  readonly options: ResolvedElectorOptions;
  readonly claims: ReturnType<typeof claimsOf>;
  readonly advertisement: Advertisement;
  readonly stopping: Stopping;
  readonly rejoinBackoff: RejoinBackoff;
  readonly report: ElectorPort['report'];
  readonly #port: ElectorPort;
  readonly #stop = new LazyAbortController();
  #state: LifecycleState = { name: 'idle' };
  /** The place that it has, also while it leads. */
  #place: QueuePlace | undefined;
  /** Settles when it has a place in the queue again, or never will. */
  #placed: Deferred<void> = deferred();
  #running: Promise<void> = Promise.resolve();
  #watchdog: Watchdog | undefined;
  /** Since when a stop waits for the servers; not for the leader's work. */
  #waitingSince: number | undefined;
  #beforeRelease: (() => Promise<void>) | undefined;
  /** Until then a term, with its work, may begin at any moment. */
  #expectsNoWork: () => void = ignore;

  constructor(session: Session, path: string, options: ResolvedElectorOptions, port: ElectorPort) {
    this.session = session;
    this.clock = session.clock;
    this.path = path;
    this.options = options;
    const onTakeoverWait = () => port.note('takeoverWait');
    this.claims = claimsOf(session, path, options.id, { ...options, onTakeoverWait });
    this.advertisement = new Advertisement(options.id, options.data);
    this.rejoinBackoff = new RejoinBackoff(session.environment, options.logger);
    this.stopping = new Stopping(this);
    this.report = port.report;
    this.#port = port;
  }

  get state(): LifecycleState {
    return this.#state;
  }

  start(): Promise<void> {
    if (this.#state.name === 'stopped' || this.#state.name === 'expired')
      return Promise.reject(new InvalidStateError(`the elector has ${this.#state.name}: make a new one`));
    if (this.#state.name === 'idle') {
      this.#become({ name: 'starting' });
      if (this.options.watchdog) this.#watchdog = new Watchdog(this.report);
      this.#expectsNoWork = expectWork();
      this.#running = this.#run();
    }
    return this.#placed.promise;
  }

  async resign(): Promise<void> {
    if (this.#state.name === 'leading') this.#endTerm(this.#state.term, 'resigned');
    if (this.#state.name !== 'ending' || this.#isOwnWork()) return;
    await this.#placed.promise;
  }

  async handOver(candidate: string): Promise<void> {
    const term = this.leading();
    if (term === undefined) throw new InvalidStateError('only a leader can hand over');
    const successor = await this.findSuccessor(candidate);
    // That took time: the term may have been lost meanwhile, and even another one be led.
    if (this.leading() !== term) throw new InvalidStateError('the term ended before it was handed over');
    this.#endTerm(term, 'resigned', { successor });
    await this.resign();
  }

  async withdraw(): Promise<void> {
    if (!this.#stop.aborted) {
      this.#stop.abortFor(() => new StopRequest());
      markStopped(this.#placed.promise);
      this.stopping.begin();
      if (this.#state.name === 'leading') this.#endTerm(this.#state.term, 'stopped');
      else if (this.#state.name === 'idle') this.#finish();
      this.#waitingSince = lowerBoundNow(this.clock);
    }
    if (!this.#isOwnWork()) await this.#running;
  }

  async advertise(data: string | Uint8Array): Promise<void> {
    this.session.ended.throwIfAborted();
    if (this.#state.name === 'stopped') throw new InvalidStateError('the elector has stopped');
    this.advertisement.change(data);
    await this.#place?.publish(); // Without a place, the next node is created with it.
  }

  beforeRelease(task: () => Promise<void>): void {
    this.#beforeRelease = task;
  }

  /** One passage through the queue: join, wait for the one ahead, claim, lead, release. */
  async #campaign(): Promise<void> {
    if (this.#state.name !== 'starting') this.#become({ name: 'joining' });
    const joinsAt = lowerBoundNow(this.clock);
    const place = await QueuePlace.join(this, this.#stop);
    this.#place = place;
    let term: ElectedTerm | undefined;
    try {
      const claim = await place.untilElected(this.#stop); // Waiting, and claiming.
      term = await this.#lead(place, claim, joinsAt);
      await place.release();
    } finally {
      this.#place = undefined;
      await place.leave();
    }
    if (term !== undefined) logRelease(this.options.logger, term, place.given);
  }

  /** Campaigns again and again, until it is stopped or the session is over. Never rejects. */
  async #run(): Promise<void> {
    const unsubscribe = onAbort(this.session.ended, () => this.#onSessionEnded());
    while (!this.#stop.aborted && !this.session.ended.aborted) {
      try {
        await this.#campaign();
        await this.#coolDown();
      } catch (error) {
        if (!(await this.#goesOnAfter(error))) break;
      }
    }
    unsubscribe();
    this.#finish();
  }

  onWaiting(position: QueuePosition): void {
    if (this.#state.name !== 'waiting') this.options.logger.info(position, 'waiting');
    this.#become({ name: 'waiting', ...position });
    this.#placed.resolve();
    this.#port.emit('waiting', position);
  }

  onClaiming(): void {
    this.#become({ name: 'claiming' });
    this.#placed.resolve();
  }

  /** From the term's beginning until its work has settled. `undefined`: the application has heard of none. */
  async #lead(place: QueuePlace, claim: Claim, joinsAt: number): Promise<ElectedTerm | undefined> {
    // Stopped, or lost, between the claim and now: the term is given back before the application has heard of it.
    if (this.#stop.aborted || !place.node.isHeld()) {
      if (!this.#stop.aborted && !place.node.isGone) this.rejoinBackoff.termLostAtOnce();
      place.planRelease();
      return undefined;
    }
    const { lead, logger } = this.options;
    const ended = deferred();
    const term: ElectedTerm = new ElectedTerm(
      claim,
      place.node,
      this.clock,
      (reason, cause) => this.#endTerm(term, reason, { cause }),
      (cause) => this.report(new LeadError(term.number, cause)),
    );
    term.whenEnded(ended.resolve);
    this.#become({ name: 'leading', term });
    this.#watchdog?.guard(place.node, term.signal);
    logElection(logger, term, joinsAt);
    term.run(() => {
      this.#port.emit('elected', term);
      if (lead !== undefined) term.lead(lead, logger, () => this.#endTerm(term, 'finished'));
    });
    place.handleRequests(); // What was asked between the claim and now.
    await ended.promise;
    this.rejoinBackoff.termEnded(term.endedFor, this.clock.now() - term.beganAt, this.session.leaseMs);
    place.planRelease(term.ending.successor); // While the work settles.
    await this.#untilSettled(term);
    const tookMs = this.clock.now() - term.beganAt;
    this.rejoinBackoff.note(term.endedFor === 'finished' && tookMs < this.session.leaseMs);
    return term;
  }

  /** Until all that has to be done before the term is given back is done, and it is known why it ended. */
  async #untilSettled(term: ElectedTerm): Promise<void> {
    const takesTime = term.hasWork || this.#beforeRelease !== undefined;
    await term.settled(() => this.#onOverrun(term));
    if ('demotion' in this.#state) await this.#state.demotion.concluded;
    if (this.#beforeRelease !== undefined) await this.#beforeRelease();
    if (takesTime && this.#stop.aborted) this.#waitingSince = lowerBoundNow(this.clock);
  }

  /**
   * The only way in which a term ends: state, signal, event, in this order. The first reason counts; but for a node that is
   * gone the event waits until it is known why.
   */
  #endTerm(term: ElectedTerm, reason: DemotionReason, ending: TermEnding = {}): void {
    if (this.leading() !== term) return;
    this.#placed = deferred();
    this.#placed.promise.catch(ignore); // The caller of `resign` sees it.
    this.#become({ name: 'ending', term, reason });
    term.end(reason, ending);
    if (reason !== 'node-deleted') return this.#announceEnd(term, reason);
    const demotion = new Demotion(this.session, term.claim, (why) => this.#announceEnd(term, why));
    this.#become({ name: 'ending', term, reason, demotion });
  }

  #announceEnd(term: ElectedTerm, reason: DemotionReason): void {
    this.#become({ name: 'ending', term, reason });
    logDemotion(this.options.logger, term, reason);
    this.#port.emit('demoted', term, reason);
  }

  #onSessionEnded(): void {
    const cause = this.session.ended.reason as Error;
    const expired = cause instanceof SessionExpiredError;
    if (this.#state.name === 'leading')
      this.#endTerm(this.#state.term, expired ? 'session-expired' : 'stopped', { cause });
    if ('demotion' in this.#state) this.#state.demotion.conclude(); // Before the others hear of the session's end.
    if (!expired) return;
    this.options.logger.info({}, 'ended with its session');
    if (this.#state.name !== 'ending') this.#become({ name: 'expired' });
    this.#port.emit('expired');
  }

  #onOverrun(term: ElectedTerm): void {
    this.report(new WorkOverrunError(term.number));
    if (this.options.onOverrun === 'exit') process.exit(70);
  }

  leading(): ElectedTerm | undefined {
    return this.#state.name === 'leading' ? this.#state.term : undefined;
  }

  async findSuccessor(candidate: string): Promise<MarkedSuccessor> {
    if (this.#place === undefined) throw new InvalidStateError('only a leader can hand over');
    if (this.options.seats > 1)
      throw new InvalidStateError('with several seats the queue decides who leads next');
    return await this.#place.find(candidate);
  }

  stepDown(term: ElectedTerm, settleBy: number, successor?: MarkedSuccessor): void {
    this.#endTerm(term, 'revoked', { settleBy, successor });
  }

  /** Whether to join again. An error that joining again can't mend ends the elector, and `start()` if that still waits. */
  async #goesOnAfter(error: unknown): Promise<boolean> {
    if (this.#stop.aborted || this.session.ended.aborted) return false;
    if (error instanceof NodeLostError || error instanceof NoNodeError) {
      this.claims.notePlaceLost(); // Another client deleted the node.
      return true;
    }
    this.report(error instanceof Error ? error : new Error(describe(error)));
    if (this.#state.name === 'starting') this.#placed.reject(error);
    // An elector that was told another number of seats would only be in the way of the election's own candidates.
    if (this.#state.name === 'starting' || error instanceof SeatsMismatchError) return false;
    this.rejoinBackoff.note(true);
    await this.#coolDown();
    return true;
  }

  async #coolDown(): Promise<void> {
    const ms = this.rejoinBackoff.pauseMs();
    if (ms <= 0) return;
    this.#become({ name: 'joining' });
    const { controller, unsubscribe } = anyAbort(this.#stop, this.session.ended);
    await sleep(this.clock, ms, controller).catch(ignore); // Seen by the loop.
    unsubscribe();
  }

  /** The last transition, whatever led to it. */
  #finish(): void {
    this.#watchdog?.stop();
    this.stopping.end();
    this.#expectsNoWork();
    const cause: unknown = this.session.ended.reason;
    if (cause !== undefined) this.#placed.reject(cause);
    if (this.#state.name === 'starting')
      this.#placed.reject(new InvalidStateError('stopped before it had a place'));
    this.#placed.resolve(); // The first of these counts.
    if (cause instanceof SessionExpiredError) return this.#become({ name: 'expired' });
    if (this.#state.name !== 'idle') this.options.logger.info({}, 'left the election');
    this.#become({ name: 'stopped' });
    this.#port.emit('stopped');
  }

  /** Waits for a node to be gone, but no longer than it takes to see that no server can be reached. */
  untilLeft(leaving: Promise<void>): Promise<void> {
    // What a stop has waited for already, the outcome of a claim for example, counts.
    const waitedMs = this.#waitingSince === undefined ? 0 : lowerBoundNow(this.clock) - this.#waitingSince;
    return settledWithin(this.clock, leaving, Math.max(0, this.session.leaseMs - waitedMs));
  }

  /** The only place that writes the state. */
  #become(next: LifecycleState): void {
    if (this.#state.name === 'expired') return; // What was under way notices a moment later.
    this.#state = next;
  }

  /** Tells a call from inside the leader's work, which mustn't wait for the end of that work. */
  #isOwnWork(): boolean {
    return this.#state.name === 'ending' && this.#state.term.hasWork && this.#state.term.isAround;
  }

  graceMs(): number {
    return this.session.leaseMs;
  }

  holdUp(): StopWait {
    return holdUpOf(this.#state);
  }
}

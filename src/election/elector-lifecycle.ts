// Imports more than 20 modules: only this module knows all parts of an election. Six of them are small modules of the platform.
import {
  type DemotionReason,
  describe,
  InvalidStateError,
  LeadError,
  NodeLostError,
  NoNodeError,
  SessionExpiredError,
  type StopWait,
  UnreadableNodeError,
  WorkOverrunError,
  ZooKeeperError,
} from '../errors.js';
import type { Overrun } from '../lease/work-while-held.js';
import { LazyAbortController, onAbort } from '../platform/async/lazy-abort-controller.js';
import { anyAbort, type Deferred, deferred, ignore, settledWithin } from '../platform/async/promises.js';
import { markStopped } from '../platform/async/start-with-signal.js';
import { type StopPort, StopWithTimeout } from '../platform/async/stop-with-timeout.js';
import { type Logger, warnOfSetup } from '../platform/logging/logger.js';
import { type Clock, sleep } from '../platform/time/clock.js';
import type { QueuePosition } from '../queue/turn-wait.js';
import { isNoAuth } from '../session/protocol/error-codes.js';
import type { Session } from '../session/session.js';
import { AdvertisedData } from './advertised-data.js';
import { type CampaignHost, campaign } from './campaign.js';
import { CandidateMemory } from './candidate-memory.js';
import type { MarkedSuccessor } from './candidates/successor.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import {
  type BeforeRelease,
  type ElectorPort,
  electorHoldUpOf,
  type LifecycleState,
} from './elector-state.js';
import { LostTermBackoff } from './lost-term-backoff.js';
import { Preparation } from './preparation.js';
import type { QueuePlace } from './queue-place.js';
import { Demotion, isLoss, lossOf } from './term/demotion.js';
import { ElectedTerm, type TermEnding } from './term/elected-term.js';
import type { GivenTerm } from './term/release-term.js';
import type { Claim } from './term/term.js';
import { Watchdog } from './watchdog/watchdog.js';

/** The reason with which a stop interrupts the elector's waits. Callers never see it. */
class StopRequest extends Error {}

/** The life of an elector: its states ({@link ElectorState}), its transitions, and its work in each state. */
export class ElectorLifecycle implements CampaignHost, StopPort {
  readonly session: Session;
  readonly clock: Clock;
  readonly path: string;
  readonly options: ResolvedElectorOptions;
  isRepeated = true;
  readonly advertisement: AdvertisedData;
  readonly stopping: StopWithTimeout;
  memory: CandidateMemory;
  readonly report: ElectorPort['report'];
  readonly #port: ElectorPort;
  readonly #stop = new LazyAbortController();
  #state: LifecycleState = { name: 'idle' };
  /** The elector's place in the queue, which it also has while it leads. */
  #place: QueuePlace | undefined;
  /** Settles when the elector has a place in the queue again, or will never have one. */
  #placed: Deferred<void> = deferred();
  /** In that place, with the option `prepare`. */
  #preparation: Preparation | undefined;
  #joinsAt = 0; // When it began to take its newest place.
  /** The term that it leads from that place, or has led there. */
  #ledTerm: ElectedTerm | undefined;
  #running: Promise<void> = Promise.resolve();
  #watchdog: Watchdog | undefined;
  /** Since when a stop has waited for the servers. The wait for the leader's work doesn't count. */
  #waitingSince: number | undefined;
  #beforeRelease: BeforeRelease | undefined;

  constructor(session: Session, path: string, options: ResolvedElectorOptions, port: ElectorPort) {
    this.session = session;
    this.clock = session.clock;
    this.path = path;
    this.options = options;
    this.advertisement = new AdvertisedData(options.id, options.data, options.prepare !== undefined);
    this.memory = new CandidateMemory(new LostTermBackoff(session.environment, options.logger));
    this.stopping = new StopWithTimeout(this);
    this.report = port.report;
    this.#port = port;
  }

  get state(): LifecycleState {
    return this.#state;
  }

  start(): Promise<void> {
    if (this.#state.name === 'stopped' || this.#state.name === 'expired')
      return Promise.reject(new InvalidStateError(`the elector has ${this.#state.name}: create a new one`));
    if (this.#state.name === 'idle') {
      this.#become({ name: 'starting' });
      const { prepare, waitForPreparedMs, logger } = this.options;
      if (waitForPreparedMs > 0 && prepare === undefined)
        warnOfSetup(
          logger,
          {},
          'waitForPreparedMs has no effect if no candidate has `prepare`: give both to all',
        );
      if (this.options.watchdog) this.#watchdog = new Watchdog(this.report);
      this.#running = this.#run();
    }
    return this.#placed.promise;
  }

  async resign(): Promise<void> {
    const term = this.leading();
    if (term !== undefined) {
      const waiting = this.untilPrepared(term);
      if (waiting !== undefined) await waiting;
      this.#endTerm(term, 'resigned');
    }
    if (this.#state.name !== 'ending' || this.#isOwnWork()) return;
    await this.#placed.promise;
  }

  async handOver(candidate: string): Promise<void> {
    const term = this.leading();
    if (term === undefined) throw new InvalidStateError('only a leader can hand over');
    let successor = await this.findSuccessor(candidate);
    const waiting = this.untilPrepared(term, successor);
    if (waiting !== undefined) {
      await waiting;
      if (this.leading() === term) successor = await this.findSuccessor(candidate); // It has changed its node, or has left.
    }
    // The search took time. Meanwhile the term may have been lost, and the elector may even lead another one.
    if (this.leading() !== term) throw new InvalidStateError('the term ended before it was handed over');
    this.#endTerm(term, 'resigned', { successor });
    await this.resign();
  }

  async withdraw(): Promise<void> {
    if (!this.#stop.aborted) {
      this.#stop.abortFor(() => new StopRequest());
      markStopped(this.#placed.promise);
      this.stopping.begin();
      const term = this.leading();
      const waiting = term && this.untilPrepared(term);
      if (waiting !== undefined) await waiting;
      if (term !== undefined) this.#endTerm(term, 'stopped');
      else if (this.#state.name === 'idle') this.#finish();
      this.#waitingSince = this.clock.now();
    }
    if (!this.#isOwnWork()) await this.#running;
  }

  async advertise(data: string | Uint8Array): Promise<void> {
    this.session.ended.throwIfAborted();
    if (this.#state.name === 'stopped') throw new InvalidStateError('the elector has stopped');
    this.advertisement.change(data);
    await this.#place?.publish(); // Without a place, the next node is created with the new data.
  }

  beforeRelease(task: BeforeRelease): void {
    this.#beforeRelease = task;
  }

  onPlace(place: QueuePlace | undefined): void {
    this.#place = place;
    if (place === undefined) this.memory.hadPlace = true;
    this.#preparation?.end();
    const { prepare } = this.options;
    this.#preparation = place && prepare && new Preparation(prepare, place, this);
  }

  onReleased(given: GivenTerm): void {
    if (this.#ledTerm !== undefined) logRelease(this.options.logger, this.#ledTerm, given);
  }

  /** Campaigns again and again, until it is stopped or the session is over. Never rejects. */
  async #run(): Promise<void> {
    const unsubscribe = onAbort(this.session.ended, () => this.#onSessionEnded());
    while (!this.#stop.aborted && !this.session.ended.aborted) {
      try {
        if (this.#state.name !== 'starting') this.#become({ name: 'joining' });
        this.#joinsAt = this.clock.now();
        this.#ledTerm = undefined;
        await campaign(this, this.#stop);
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
    if (position.position === 1 || this.options.priority > 0) this.#preparation?.begin();
    this.#port.emit('waiting', position);
  }

  onTakeoverWait(): void {
    this.#preparation?.begin(); // It is the first in the queue.
    this.#port.note('takeoverWait');
  }

  onClaiming(): void {
    this.#become({ name: 'claiming' });
    this.#placed.resolve();
  }

  /** See {@link CampaignHost.lead}. If the application never hears of the term, there is none to log. */
  async lead(place: QueuePlace, claim: Claim): Promise<MarkedSuccessor | undefined> {
    // The elector was stopped, or its lease ended, since the claim. Then it gives the term back before the application has heard of it.
    if (this.#stop.aborted || !place.node.isHeld()) {
      if (!this.#stop.aborted) this.#noteEnd(claim, place.node.isGone ? 'node-deleted' : 'lease-expired', 0);
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
    this.#ledTerm = term;
    this.#become({ name: 'leading', term });
    this.#watchdog?.guard(place.node, term.signal);
    logElection(logger, term, this.#joinsAt);
    term.run(() => {
      this.#port.emit('elected', term);
      const preparation = this.#preparation;
      const prepared = preparation && ((signal: AbortSignal) => preparation.warm(signal));
      if (lead !== undefined) term.lead(lead, logger, () => this.#endTerm(term, 'finished'), prepared);
    });
    place.handleRequests(); // Requests may have come since the claim.
    await ended.promise;
    // If the reason is still asked for, the node is gone.
    this.#noteEnd(claim, term.endedFor ?? 'node-deleted', this.clock.now() - term.beganAt);
    await this.#untilSettled(term, place);
    const tookMs = this.clock.now() - term.beganAt;
    const wasFruitless = term.endedFor === 'finished' || isLoss(this.#endReason(term));
    this.memory.backoff.note(wasFruitless && tookMs < this.session.leaseMs);
    return term.ending.successor;
  }

  #noteEnd({ connection }: Claim, reason: DemotionReason, lastedMs: number): void {
    const { leaseMs, connectionNumber } = this.session;
    const hasConnection = connection !== undefined && connection === connectionNumber;
    this.memory.backoff.termEnded({ reason, lastedMs, leaseMs, hasConnection });
  }

  /** Waits until the work has settled, the reason of the term's end is known, and the task of `beforeRelease` is done. */
  async #untilSettled(term: ElectedTerm, { node }: QueuePlace): Promise<void> {
    const takesTime = term.hasWork || this.#beforeRelease !== undefined;
    await term.settled((over) => this.#onOverrun(term, over));
    this.#preparation?.end();
    const isLost = this.#beforeRelease !== undefined && term.isLost; // Before anything else takes time: only the end of the work counts.
    if ('demotion' in this.#state) await this.#state.demotion.concluded;
    if (this.#beforeRelease !== undefined)
      await this.#beforeRelease(
        term,
        isLost ? lossOf(this.#endReason(term), node.lost, this.session.ended) : undefined,
      );
    if (takesTime && this.#stop.aborted) this.#waitingSince = this.clock.now();
  }

  /** The reason for which a term has ended, as it was announced. */
  #endReason(term: ElectedTerm): DemotionReason {
    return this.#state.name === 'ending' ? this.#state.reason : (term.endedFor as DemotionReason);
  }

  /**
   * The only way in which a term ends: state, signal, event, in this order. The first reason counts. If the node is
   * gone, the event waits until the reason is known.
   */
  #endTerm(term: ElectedTerm, asked: DemotionReason, ending: TermEnding = {}): void {
    if (this.leading() !== term) return;
    const reason = term.endingFor(asked);
    this.#placed = deferred();
    this.#placed.promise.catch(ignore); // The caller of `resign` sees the rejection.
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
    if ('demotion' in this.#state) this.#state.demotion.conclude(); // Before listeners hear of the session's end.
    if (!expired) return;
    this.options.logger.info({}, 'ended with its session');
    if (this.#state.name !== 'ending') this.#become({ name: 'expired' });
    this.#port.emit('expired');
  }

  #onOverrun(term: ElectedTerm, over: Overrun): void {
    this.report(new WorkOverrunError(term.number, { over }));
    // No other candidate leads while the lease lasts. Work that has blocked the event loop may have settled by now, and acts no more.
    if (over === 'lease' && this.options.onOverrun === 'exit' && term.hasWork) process.exit(70);
  }

  /** For how long `lead` has waited for `prepare` in this term, in milliseconds; `undefined` if it doesn't wait. */
  get preparingMs(): number | undefined {
    return this.#preparation?.awaitedMs;
  }

  leading(): ElectedTerm | undefined {
    return this.#state.name === 'leading' ? this.#state.term : undefined;
  }

  async findSuccessor(candidate: string): Promise<MarkedSuccessor> {
    if (this.#place === undefined) throw new InvalidStateError('only a leader can hand over');
    return await this.#place.find(candidate);
  }

  untilPrepared(
    term: ElectedTerm,
    named?: MarkedSuccessor,
    withinMs = Number.POSITIVE_INFINITY,
  ): Promise<void> | undefined {
    const ms = Math.min(this.options.waitForPreparedMs, withinMs);
    return ms > 0 && this.leading() === term ? this.#place?.untilPrepared(term, ms, named) : undefined;
  }

  stepDown(term: ElectedTerm, settleBy: number, successor?: MarkedSuccessor): void {
    this.#endTerm(term, 'revoked', { settleBy, successor });
  }

  /**
   * Whether to join again after this error. If joining again can't help, the elector ends. If `start()` still waits, it
   * rejects with the error.
   */
  async #goesOnAfter(error: unknown): Promise<boolean> {
    if (this.#stop.aborted || this.session.ended.aborted) return false;
    const isPlaceLost = error instanceof NodeLostError || error instanceof NoNodeError;
    const isStarting = this.#state.name === 'starting';
    if (isStarting && (!isPlaceLost || isNoAuth(error.cause))) {
      this.#placed.reject(
        isPlaceLost ? new UnreadableNodeError(pathOf(error.cause), { cause: error }) : error,
      );
      return false;
    }
    // The session has reported a node that it can't read. Other nodes were deleted by another client.
    if (isPlaceLost) this.memory.hadPlace = true;
    else this.report(error instanceof Error ? error : new Error(describe(error)));
    this.memory.backoff.note(!isPlaceLost || this.clock.now() - this.#joinsAt < this.session.leaseMs);
    await this.#coolDown();
    return true;
  }

  async #coolDown(): Promise<void> {
    const ms = this.memory.backoff.pauseMs();
    if (ms <= 0) return;
    this.#become({ name: 'joining' });
    const { controller, unsubscribe } = anyAbort(this.#stop, this.session.ended);
    await sleep(this.clock, ms, controller).catch(ignore); // The loop checks both signals.
    unsubscribe();
  }

  /** The last transition, for whatever reason. */
  #finish(): void {
    this.#watchdog?.stop();
    this.stopping.end();
    const cause: unknown = this.session.ended.reason;
    if (cause !== undefined) this.#placed.reject(cause);
    if (this.#state.name === 'starting')
      this.#placed.reject(new InvalidStateError('stopped before it had a place'));
    this.#placed.resolve(); // Only the first of these settles the promise.
    if (cause instanceof SessionExpiredError) return this.#become({ name: 'expired' });
    if (this.#state.name !== 'idle') this.options.logger.info({}, 'left the election');
    this.#become({ name: 'stopped' });
    this.#port.emit('stopped');
  }

  /** Waits until a node is gone, for a lease at most: by then it is clear that no server can be reached. */
  untilLeft(leaving: Promise<void>): Promise<void> {
    // The time that a stop has already waited, for the outcome of a claim for example, counts.
    const waitedMs = this.#waitingSince === undefined ? 0 : this.clock.now() - this.#waitingSince;
    return settledWithin(this.clock, leaving, Math.max(0, this.session.leaseMs - waitedMs));
  }

  /** The only place that writes the state. */
  #become(next: LifecycleState): void {
    if (this.#state.name === 'expired') return; // Code that is under way notices the end a moment later.
    this.#state = next;
  }

  /** Whether the call comes from inside the leader's work. Such a call mustn't wait for the end of that work. */
  #isOwnWork(): boolean {
    return this.#state.name === 'ending' && this.#state.term.hasWork && this.#state.term.isAround;
  }

  graceMs(): number {
    return this.session.leaseMs + this.options.waitForPreparedMs;
  }

  holdUp(): StopWait {
    return electorHoldUpOf(this.#state);
  }
}

function pathOf(refusal: unknown): string {
  return refusal instanceof ZooKeeperError ? (refusal.path ?? '') : '';
}

/** One log line for each transition of a term. Durations are in whole milliseconds. */

/** @param joinsAt - when the elector began to join the queue, by the session's clock */
function logElection(logger: Logger, term: ElectedTerm, joinsAt: number): void {
  const { origin = { kind: 'vacant' } } = term.claim;
  const since = origin.kind === 'vacant' ? {} : { [`${origin.kind}Ms`]: elapsed(origin.sinceMs, term) };
  const waitedMs = elapsed(joinsAt, term);
  logger.info({ ...term.describe(), reason: origin.kind, waitedMs, ...since }, 'elected');
}

function logDemotion(logger: Logger, term: ElectedTerm, reason: DemotionReason): void {
  const { blocked } = term;
  if (blocked !== undefined)
    logger.warn({ ...term.describe(), ...blocked }, 'the event loop was blocked past the end of the lease');
  const { cause } = term.ending;
  const why = cause !== undefined && { cause: describe(cause) };
  logger.info({ ...term.describe(), reason, lastedMs: term.lastedMs, ...why }, 'demoted');
}

function logRelease(logger: Logger, term: ElectedTerm, { successor }: GivenTerm): void {
  const to = successor === undefined ? {} : { successor: successor.node };
  logger.info({ ...term.describe(), ...to, tookMs: term.endedAgoMs }, 'released');
}

function elapsed(since: number, { beganAt }: ElectedTerm): number {
  return Math.max(0, Math.round(beganAt - since));
}

// Imports more than 20 modules: 24, half of them for types. It connects the queue, which knows nothing of elections, with the record.

import { BadVersionError } from '../errors.js';
import type { NodeWithHeartbeat } from '../lease/node-with-heartbeat.js';
import { type Abortable, LazyAbortController, onAbort } from '../platform/async/lazy-abort-controller.js';
import { abortable, deferred, ignore } from '../platform/async/promises.js';
import type { Contender } from '../queue/contender.js';
import { joinWithHeartbeats } from '../queue/join-queue.js';
import { parseEntry } from '../queue/names-and-order.js';
import { awaitTurn } from '../queue/turn-wait.js';
import { ifThere, isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import type { AdvertisedData } from './advertised-data.js';
import { untilPrepared } from './await-prepared-successor.js';
import type { CandidateMemory } from './candidate-memory.js';
import { candidateUuid } from './candidates/candidate-uuid.js';
import { NextLeaderWatch } from './candidates/next-leader-watch.js';
import type { MarkedSuccessor } from './candidates/successor.js';
import { ClaimSender, type ClaimsHost } from './claim-sender.js';
import {
  type Ahead,
  type ClaimStep,
  decide,
  type EmptyStep,
  type Known,
  type LeadStep,
  rankOf,
  type Step,
  type WaitStep,
} from './decide-next-step.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import { LeaderMonitor, type LeaderMonitorHost } from './leader-monitor.js';
import { readRecord } from './record/election-reader.js';
import type { Beginning, HeldRecord, SeenRecord } from './record/election-record.js';
import { RequestHandler, type RequestHandlerPort } from './request-handler.js';
import type { ElectedTerm } from './term/elected-term.js';
import { type GivenTerm, leaveQueue, releaseTerm } from './term/release-term.js';
import type { Claim, TermOrigin } from './term/term.js';
import { type WaitListener, WaitReports } from './wait-reports.js';

/** The part of an elector that its place in the queue uses. */
export interface PlaceHost extends RequestHandlerPort, WaitListener, ClaimsHost {
  readonly session: Session;
  readonly path: string;
  readonly options: ResolvedElectorOptions;
  readonly advertisement: AdvertisedData;
  readonly memory: CandidateMemory;
  /** Whether a thread may repeat the heartbeats of its terms. */
  readonly isRepeated: boolean;
  /** Waits until a place has been left, or until the elector has waited long enough for the servers. */
  untilLeft(leaving: Promise<void>): Promise<void>;
}

/**
 * An elector's place in the queue of its election: all that the candidate knows there, and the steps that it takes by that. The place is
 * taken once, and given back alone or together with its term. `campaign` has the order of its calls.
 */
export class QueuePlace implements LeaderMonitorHost {
  readonly contender: Contender<NodeWithHeartbeat>;
  readonly #host: PlaceHost;
  readonly #next: NextLeaderWatch;
  readonly #requestHandler: RequestHandler;
  /** What is known of the election's record. */
  readonly record: LeaderMonitor;
  readonly #claims: ClaimSender;
  readonly #reports: WaitReports;
  #ahead: Ahead | undefined;
  /** The record that was the reason for the newest listing, by the transaction that wrote it. */
  #listedFor: bigint | undefined;
  /** Whether the nearest node ahead is watched. */
  #isWatching = false;
  #failure: { readonly reason: unknown } | undefined;
  #hasChanged = false;
  #wake: (() => void) | undefined;
  /** Aborts when the candidate no longer waits for a term, with the reason if there is one. */
  readonly #ended = new LazyAbortController<unknown>();
  #unsubscribe: () => void = ignore;
  /** Given once the servers have answered the release of the term. */
  given: GivenTerm | undefined;

  private constructor(
    host: PlaceHost,
    contender: Contender<NodeWithHeartbeat>,
    record: SeenRecord | undefined,
  ) {
    const { session, options } = host;
    this.contender = contender;
    this.#host = host;
    this.#next = new NextLeaderWatch(contender);
    this.#requestHandler = new RequestHandler(session, options.onRevoke, host);
    this.record = new LeaderMonitor(this, record);
    this.#claims = new ClaimSender(this.record, this.#next.search, host);
    this.#reports = new WaitReports(host, this.record, options.logger);
  }

  /**
   * Joins the queue, and reads the record meanwhile.
   * @throws the signal's reason, the error that ended the session, or what `joinWithHeartbeats` and `readRecord` throw.
   *   Before it throws, it leaves a place that it has taken
   */
  static async join(host: PlaceHost, signal: Abortable): Promise<QueuePlace> {
    const { session, path, options, advertisement } = host;
    const { revision } = advertisement;
    if (session.state.name !== 'connected') await session.whenConnected(signal); // The servers grant the lease with the connection.
    const { leaseMs, environment } = session; // The lease never gets longer.
    const id = candidateUuid(environment.uuid(), options.priority, leaseMs);
    const reading = ifThere(readRecord(session, path, signal));
    const join = { id, data: advertisement.bytes(), parse: parseEntry, signal };
    const joining = joinWithHeartbeats(session, path, join);
    try {
      const [contender, record] = await abortable(Promise.all([joining, reading]), signal);
      if (!host.isRepeated) contender.node.neverRepeat();
      advertisement.created(revision);
      return new QueuePlace(host, contender, record);
    } catch (error) {
      // There may be no node, or the session may be over.
      await host.untilLeft(
        joining.then((contender) => leaveQueue(contender, new NextLeaderWatch(contender))).catch(ignore),
      );
      throw error;
    }
  }

  /** The elector's node in the queue, and its lease. */
  get node(): NodeWithHeartbeat {
    return this.contender.node;
  }

  /** Writes the data that the elector advertises on the node, unless the node has it already. @throws as `AdvertisedData.publish` does */
  publish(signal?: Abortable): Promise<void> {
    return this.#host.advertisement.publish(this.#host.session, this.node, signal);
  }

  /** See {@link KnownRecord}. */
  get hadPlace(): boolean {
    return this.#host.memory.hadPlace;
  }

  /** See {@link LeaderMonitorHost}. */
  noteLease(leaseMs: number): void {
    const { memory } = this.#host;
    if (leaseMs > memory.longestLeaseMs) memory.longestLeaseMs = leaseMs;
  }

  /** See {@link LeaderMonitorHost}. */
  holderLives({ id, node }: HeldRecord): void {
    if (id === this.#host.options.id && node !== this.contender.entry.node) this.#reports.sameId();
  }

  /**
   * Stands for election from now on: gets to know the queue and the record, and handles requests.
   * @param stop - ends each wait
   * @throws as `AdvertisedData.publish` does, or what ends the wait
   */
  async stand(stop: Abortable): Promise<void> {
    this.handleRequests();
    await this.publish(stop);
    const end = ({ reason }: Abortable) => {
      this.failed(reason);
      this.#ended.abort(reason);
    };
    const [stopped, lost] = [stop, this.contender.node.lost].map((each) => {
      if (each.aborted) end(each);
      return onAbort(each, () => end(each));
    });
    this.#unsubscribe = () => {
      stopped?.();
      lost?.();
    };
    if (this.#failure === undefined) this.#awaitTurn();
  }

  /** The candidate leads, or gives up: what it would have to know from now on is no longer kept up to date. */
  standDown(): void {
    this.#unsubscribe();
    this.#ended.abort(undefined);
    this.record.stop();
  }

  /** The contender's node has changed, mostly because a leader handed its term over. */
  mayLead(): void {
    this.record.mayHaveChanged();
  }

  /** Something is known that wasn't before, or was known and isn't any more. */
  changed(): void {
    this.#hasChanged = true;
    this.#wake?.();
  }

  failed(reason: unknown): void {
    this.#failure ??= { reason };
    this.changed();
  }

  /** Keeps {@link #ahead} up to date from now on. */
  #awaitTurn(): void {
    awaitTurn(this.contender, {
      signal: this.#ended,
      onWaiting: ({ position, ahead }) => this.#moved({ position, nearest: ahead }),
      onWatching: (position) => {
        this.#isWatching = true;
        this.#reports.waiting(position, true);
      },
      beforeListing: () => this.#moved(undefined),
      insteadOfProbe: (second, list) => this.#readInsteadOfProbe(second, list),
      turnCame: () => this.#moved({ position: 0 }),
      turnFailed: (reason) => this.failed(reason),
    });
  }

  /** A node ahead has gone, or the queue was listed. The node that has gone may have handed its term over, or released it. */
  #moved(ahead: Ahead | undefined): void {
    const hasLeft = ahead === undefined || (ahead.position === 0 && this.#ahead !== undefined);
    if (ahead === undefined || ahead.position === 0) this.#isWatching = false;
    const isNext = ahead?.position === 1 && this.#ahead?.position !== 1;
    this.#ahead = ahead;
    if (hasLeft) this.record.mayHaveChanged();
    if (ahead !== undefined) this.#follow(ahead, isNext);
    this.changed();
  }

  /** The next two in line follow the holder. A candidate whose turn has come has no other node to watch than the holder's. */
  #follow(ahead: Ahead, isNext: boolean): void {
    if (rankOf(ahead.position, true) === undefined) this.record.unfollow();
    else this.record.follow(isNext);
    if (ahead.position === 0) this.record.watchHolder();
  }

  /** A record that names one of the two nearest candidates shows that those before it have probably left. A listing shows the position. */
  #readInsteadOfProbe(second: string, list: () => void) {
    return this.record.readOfRecord(({ value, zxid }) => {
      if (value.state !== 'held' || this.#ahead === undefined || zxid === this.#listedFor) return;
      if (value.node !== this.#ahead.nearest && value.node !== second) return;
      this.#listedFor = zxid;
      list();
    });
  }

  /**
   * What to do next.
   * @throws NodeLostError if the candidate's node is gone, the error that ended the session, a server's refusal, or the reason for the stop
   */
  next(): Step {
    if (this.#failure !== undefined) throw this.#failure.reason;
    const { session, entry } = this.contender;
    const { takeoverDelayMs = 0 } = this.#host.options;
    const known: Known = {
      now: session.clock.now(),
      own: { node: entry.node, leaseMs: session.leaseMs },
      longestLeaseMs: this.#host.memory.longestLeaseMs,
      ahead: this.#ahead,
      leastDelayMs: takeoverDelayMs,
    };
    this.#hasChanged = false;
    const step = decide(this.record.known, known);
    const isClaiming = step.do === 'look' ? this.#ahead?.position === 0 : step.do !== 'wait';
    if (isClaiming) this.#reports.claiming();
    return step;
  }

  /** Reads the record. */
  look(): Promise<void> {
    return this.record.look(this.#ended);
  }

  /** Waits until more is known, or until the time of that step is over. */
  async wait(step: WaitStep): Promise<void> {
    const { ms } = step;
    if (this.#ahead !== undefined) this.#follow(this.#ahead, false);
    this.#reportWait(step);
    if (this.#hasChanged) return;
    const woken = deferred();
    this.#wake = woken.resolve;
    const timer = ms === undefined ? undefined : this.contender.session.clock.after(ms, woken.resolve);
    await woken.promise;
    this.#wake = undefined;
    timer?.clear();
  }

  #reportWait({ behind, ms, refused }: WaitStep): void {
    const ahead = this.#ahead;
    if (refused) {
      this.#reports.refused();
    } else if (behind === undefined) {
      if (ms !== undefined) this.#reports.waitingOut(ms);
    } else if (ahead?.position === 0) {
      if (this.record.isHolderThere) this.#reports.waiting({ position: 1, ahead: behind });
    } else if (ahead !== undefined && this.#isWatching) {
      this.#reports.waiting({ position: ahead.position, ahead: behind });
    }
  }

  /** Empties the record. @throws as `Claims.empty` does */
  empty(step: EmptyStep, stop: Abortable): Promise<void> {
    return this.#claims.empty(step, stop);
  }

  /** Sends a claim. @throws as `Claims.send` does */
  claim(step: ClaimStep, stop: Abortable): Promise<void> {
    return this.#claims.send(step, stop);
  }

  /**
   * Takes up a term. Its lease has begun with the claim, or begins with a proof. If that is over again by the answer, the caller sees it.
   * @returns `undefined` if the term hasn't begun: the record was written since, or the reply was lost. The next look shows which
   * @throws NodeLostError, another refusal of a server, the error that ended the session, or the reason for the stop
   */
  async takeUp({ record }: LeadStep): Promise<Claim | undefined> {
    const { node, queue, session } = this.contender;
    const { value, zxid, version, connection } = record;
    if (!node.hasLeaseOf(version)) {
      const check = { kind: 'check', path: queue, version } as const;
      try {
        await abortable(node.beginTerm([check], { path: queue, version }), this.#ended);
      } catch (error) {
        if (error instanceof BadVersionError && error.path === session.absolute(queue))
          this.record.refused(record);
        else if (isUnanswered(error)) this.record.mayHaveChanged();
        else throw error;
        return undefined;
      }
    }
    this.#next.begin();
    return {
      term: value.term,
      token: zxid,
      record: queue,
      version,
      node: node.path,
      connection,
      origin: originOf(this.record, value.began),
    };
  }

  /** Handles the requests that others write on the elector's node, now and after each change. */
  handleRequests(): void {
    this.#requestHandler.handle(this.contender, () => this.mayLead());
  }

  /** The candidate with that id, or whose node has that name. @throws NoCandidateError if there is no such candidate */
  find(candidate: string): Promise<MarkedSuccessor> {
    return this.#next.search.named(candidate, this.contender.entry);
  }

  /** Goes on leading until the candidate that leads next is prepared, for `ms` at most. Never rejects. */
  untilPrepared(term: ElectedTerm, ms: number, named?: MarkedSuccessor): Promise<void> {
    const { logger } = this.#host.options;
    return untilPrepared({ contender: this.contender, next: this.#next, term, logger }, ms, named);
  }

  /**
   * Gives the term and the place back, in one write. Resolves when the write has begun; {@link leave} waits for its end.
   * @param named - the candidate that is to lead next
   */
  async release(claim: Claim, named?: MarkedSuccessor): Promise<void> {
    const successor = named ?? (await this.#next.find());
    const giving = async () => {
      this.given = await releaseTerm(this.contender, claim, this.#next, successor);
    };
    void this.contender.leave(giving); // Never rejects.
  }

  /** Gives the place back, unless that has been done together with the term. Never rejects. */
  leave(): Promise<void> {
    this.#next.end();
    return this.#host.untilLeft(leaveQueue(this.contender, this.#next));
  }
}

function originOf({ changedAt, formerEndedAt }: LeaderMonitor, began: Beginning = 'handover'): TermOrigin {
  if (began === 'vacant') return { kind: began };
  if (began === 'handover') return { kind: began, sinceMs: changedAt };
  return { kind: 'failover', sinceMs: formerEndedAt };
}

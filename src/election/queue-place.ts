// Imports more than 15 modules: 19, half of them for types. It connects the queue, which knows nothing of elections,
// with the election.
import type { Contender } from '../lock/queue/contender.js';
import { firstContender, joinQueue } from '../lock/queue/join.js';
import { parseEntry } from '../lock/queue/order.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { abortable, ignore } from '../platform/async/promises.js';
import type { Timer } from '../platform/time/clock.js';
import { nextTick } from '../platform/time/timers.js';
import type { Session } from '../session/session.js';
import type { Advertisement } from './advertisement.js';
import { Campaign, type CampaignListener } from './campaign.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import { candidateUuid } from './nodes/candidate-uuid.js';
import { heartbeatPathOf } from './nodes/heartbeat-node.js';
import { recordPath, type Vacancy } from './nodes/record.js';
import { RequestHandler, type RequestHandlerPort } from './request-handler.js';
import { reportPriority } from './successor/report-priority.js';
import { type NextLeader, Succession } from './successor/succession.js';
import type { MarkedSuccessor } from './successor/successor.js';
import { SuccessorSearch } from './successor/successor-search.js';
import type { Claim } from './term/claim.js';
import type { Claims } from './term/claimant.js';
import { leaveQueue } from './term/leave-queue.js';
import { Release } from './term/release.js';

const WATCHED_AFTER_MS = 10; // A client that sends a request doesn't notice so short a delay.

/** The part of an elector that its place in the queue uses. */
export interface QueuePlaceHost extends RequestHandlerPort, CampaignListener {
  readonly session: Session;
  readonly path: string;
  readonly options: ResolvedElectorOptions;
  readonly claims: Claims;
  readonly advertisement: Advertisement;
  /** Waits until a place has been left, or until the elector has waited long enough for the servers. */
  untilLeft(leaving: Promise<void>): Promise<void>;
}

/**
 * An elector's place in the queue of its election. It is taken once, and given back alone or together with its term.
 */
export class QueuePlace {
  readonly #host: QueuePlaceHost;
  readonly #contender: Contender;
  readonly #campaign: Campaign;
  readonly #search: SuccessorSearch;
  readonly #requestHandler: RequestHandler;
  /** Only with one seat. With several seats the queue alone decides which candidate leads next. */
  readonly #succession: Succession | undefined;
  /** The term that was claimed together with the place or later. */
  #claim: Claim | undefined;
  #release: Release | undefined;
  /** After a claim with which the elector joined: runs until its node is watched. */
  #watching: Timer | undefined;
  #next: Promise<NextLeader> | undefined;

  private constructor(
    host: QueuePlaceHost,
    contender: Contender,
    search: SuccessorSearch,
    data: Buffer,
    vacancy?: Vacancy,
  ) {
    const { session, options, claims } = host;
    this.#host = host;
    this.#contender = contender;
    this.#search = search;
    this.#requestHandler = new RequestHandler(session, options.onRevoke, host);
    const created = { data, version: 0 };
    if (options.seats === 1)
      this.#succession = new Succession(search, contender, () => this.#requestHandler.lastRead ?? created);
    this.#campaign = new Campaign(contender, claims, options.seats, host, this.#succession, vacancy);
    if (options.takeover === 'lease') contender.node.raiseVersionAt(heartbeatPathOf);
  }

  /**
   * Joins the queue. If the queue has no candidate and the record is vacant, it claims in the same write. A candidate
   * with a priority first marks the leader's node, so that from `waiting` on the leader considers it.
   * @throws the signal's reason, the error that ended the session, or what `joinQueue` and `Claims.prepare` throw.
   *   Before it throws, it leaves a place that it has taken
   */
  static async join(host: QueuePlaceHost, signal: Abortable): Promise<QueuePlace> {
    const { session, path, options, claims, advertisement } = host;
    const { revision } = advertisement;
    const search = new SuccessorSearch(session, path);
    if (session.state.name !== 'connected') await session.whenConnected(signal); // The servers grant the lease with the connection.
    const { leaseMs, environment, guard } = session; // The lease never gets longer.
    const takeover = options.takeover === 'lease' ? options.takeover : undefined;
    const newId = () => candidateUuid(environment.uuid(), options.priority, { leaseMs, takeover });
    const data = advertisement.bytes();
    const preparing = claims.prepare();
    let vacancy = options.seats === 1 ? await abortable(preparing, signal) : undefined;
    if (vacancy?.isDeserted === true) await abortable(Promise.resolve(guard.check(path)), signal);
    if (vacancy?.isDeserted === true && guard.isForGood(path)) {
      const contender = firstContender(session, path, newId(), parseEntry);
      const place = new QueuePlace(host, contender, search, data);
      if (await place.#joinAndClaim(data, vacancy, signal)) {
        advertisement.created(revision);
        return place;
      }
      vacancy = undefined;
    }
    const joining = joinQueue(session, path, { id: newId(), data, parse: parseEntry, signal });
    try {
      const announced = joining.then((contender) =>
        options.priority > 0 ? reportPriority(contender) : undefined,
      );
      const [contender] = await abortable(Promise.all([joining, preparing, announced]), signal);
      advertisement.created(revision);
      return new QueuePlace(host, contender, search, data, vacancy);
    } catch (error) {
      // There may be no node, or the session may be over.
      await host.untilLeft(
        joining.then((contender) => leaveQueue(contender, search, recordIn(host))).catch(ignore),
      );
      throw error;
    }
  }

  /** Returns `false` if there is no node and nothing was claimed. @throws as {@link QueuePlace.join} does */
  async #joinAndClaim(data: Buffer, vacancy: Vacancy, signal: Abortable): Promise<boolean> {
    let isAlone = true;
    const onOthers = () => {
      isAlone = false;
      this.#succession?.list();
    };
    try {
      this.#claim = await this.#host.claims.joinAndClaim(this.#contender, data, vacancy, signal, onOthers);
    } catch (error) {
      await this.leave();
      throw error;
    }
    if (this.#claim === undefined) {
      this.#succession?.end();
      this.node.release();
      return false;
    }
    if (isAlone) this.#succession?.beginAlone();
    // By then a term that ends at once is over, and has cost no watch.
    this.#watching = this.#host.session.clock.after(WATCHED_AFTER_MS, () => {
      this.#watching = undefined;
      this.handleRequests();
    });
    return true;
  }

  /** The elector's node in the queue, and its lease. */
  get node(): Contender['node'] {
    return this.#contender.node;
  }

  /**
   * Writes the data that the elector advertises on the node, unless the node has it already. @throws as
   * `Advertisement.publish` does
   */
  publish(signal?: Abortable): Promise<void> {
    return this.#host.advertisement.publish(this.#host.session, this.node, signal);
  }

  /**
   * Waits for its turn and claims, or waits until a term is handed over to it. @throws as `Campaign.untilElected` does
   */
  async untilElected(signal: Abortable): Promise<Claim> {
    this.handleRequests();
    await this.publish(signal);
    if (this.#claim === undefined) this.#claim = await this.#campaign.untilElected(signal);
    else this.#host.onClaiming();
    const release = new Release(this.#contender, this.#claim, this.#succession);
    this.#release = release;
    nextTick(() => this.#succession?.whenKnown((next) => release.prepare(next))); // The application hears of its term first.
    return this.#claim;
  }

  /**
   * Handles the requests that others write on the elector's node, now and after each change. If the elector has just
   * joined with a claim, it begins a moment later.
   */
  handleRequests(): void {
    if (this.#watching !== undefined) return;
    this.#requestHandler.handle(this.#contender, this.#campaign);
  }

  /** The candidate with that id, or whose node has that name. @throws NoCandidateError if there is no such candidate */
  find(candidate: string): Promise<MarkedSuccessor> {
    return this.#search.named(candidate, this.#contender.entry);
  }

  /**
   * Finds out which candidate leads next, while the work settles. @param named - the candidate that the leader named
   */
  planRelease(named?: MarkedSuccessor): void {
    if (named !== undefined) this.#succession?.name(named);
    this.#next = this.#succession?.next();
  }

  /**
   * Gives the term and the place back, in one write. Resolves when the write has begun; {@link leave} waits for its
   * end.
   */
  async release(): Promise<void> {
    const next = await this.#next;
    void this.#release?.give(next); // Never rejects.
  }

  /** The candidate to which the term was given, once the servers have answered its release. */
  get given(): NextLeader | undefined {
    return this.#release?.given;
  }

  /** Gives the place back, unless that has been done together with the term. Never rejects. */
  leave(): Promise<void> {
    this.#watching?.clear();
    this.#succession?.end();
    return this.#host.untilLeft(leaveQueue(this.#contender, this.#search, recordIn(this.#host)));
  }
}

/** The path of the record that a leader may hand over: the election's own. With several seats there is none. */
function recordIn({ path, options }: QueuePlaceHost): string | undefined {
  return options.seats === 1 ? recordPath(path) : undefined;
}

// Imports more than 15 modules: 19, half of them for types; it ties the queue, which knows no election, to the election.
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

const WATCHED_AFTER_MS = 10; // Much less than a client that asks for something would notice.

/** What a place in the queue needs of the elector that takes it. */
export interface QueuePlaceHost extends RequestHandlerPort, CampaignListener {
  readonly session: Session;
  readonly path: string;
  readonly options: ResolvedElectorOptions;
  readonly claims: Claims;
  readonly advertisement: Advertisement;
  /** Waits until a place has been left, or for as long as the elector waits for the servers. */
  untilLeft(leaving: Promise<void>): Promise<void>;
}

/** An elector's place in the queue of its election: taken once, and given back alone or together with the term that it led to. */
export class QueuePlace {
  readonly #host: QueuePlaceHost;
  readonly #contender: Contender;
  readonly #campaign: Campaign;
  readonly #search: SuccessorSearch;
  readonly #requestHandler: RequestHandler;
  /** With one seat. With several the queue alone decides who leads next. */
  readonly #succession: Succession | undefined;
  /** The term that was claimed with the place, or that it has led to. */
  #claim: Claim | undefined;
  #release: Release | undefined;
  /** Until its node is watched, after a claim with which it joined. */
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
   * Joins the queue; where no candidate is in it, and the record is vacant, with a claim in the same write. With a priority, it
   * first marks the leader's node: from `waiting` on, the leader considers it.
   * @throws the signal's reason, what ended the session, what `joinQueue` and `Claims.prepare` throw; a place taken is left
   */
  static async join(host: QueuePlaceHost, signal: Abortable): Promise<QueuePlace> {
    const { session, path, options, claims, advertisement } = host;
    const { revision } = advertisement;
    const search = new SuccessorSearch(session, path);
    if (session.state.name !== 'connected') await session.whenConnected(signal); // The lease is granted then.
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
      // It may never have had a node, or the session may be over.
      await host.untilLeft(
        joining.then((contender) => leaveQueue(contender, search, recordIn(host))).catch(ignore),
      );
      throw error;
    }
  }

  /** `false`: there is no node, and nothing was claimed. @throws as {@link QueuePlace.join} does */
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
    // A term that ends at once is over by then, and has cost no watch.
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

  /** Writes what the elector advertises on the node, unless that says so already. @throws as `Advertisement.publish` does */
  publish(signal?: Abortable): Promise<void> {
    return this.#host.advertisement.publish(this.#host.session, this.node, signal);
  }

  /** Waits for its turn and claims, or until a term is handed over to it. @throws as `Campaign.untilElected` does */
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

  /** Handles what others ask of the elector on its node, now and whenever that changes; a moment later if it has just joined with a claim. */
  handleRequests(): void {
    if (this.#watching !== undefined) return;
    this.#requestHandler.handle(this.#contender, this.#campaign);
  }

  /** The candidate with that id, or that name of its node. @throws NoCandidateError if there is no such candidate */
  find(candidate: string): Promise<MarkedSuccessor> {
    return this.#search.named(candidate, this.#contender.entry);
  }

  /** Finds out which candidate leads next, while the work settles. @param named - the one that the leader named */
  planRelease(named?: MarkedSuccessor): void {
    if (named !== undefined) this.#succession?.name(named);
    this.#next = this.#succession?.next();
  }

  /** Gives the term and the place back, in one write. Resolves when that has begun: {@link leave} waits for it. */
  async release(): Promise<void> {
    const next = await this.#next;
    void this.#release?.give(next); // Never rejects.
  }

  /** To which candidate the term was given, once the servers have answered its release. */
  get given(): NextLeader | undefined {
    return this.#release?.given;
  }

  /** Gives the place back, if that hasn't been done with the term. Never rejects. */
  leave(): Promise<void> {
    this.#watching?.clear();
    this.#succession?.end();
    return this.#host.untilLeft(leaveQueue(this.#contender, this.#search, recordIn(this.#host)));
  }
}

/** The record that may be handed over to a candidate: the election's own. */
function recordIn({ path, options }: QueuePlaceHost): string | undefined {
  return options.seats === 1 ? recordPath(path) : undefined;
}

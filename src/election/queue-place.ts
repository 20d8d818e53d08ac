// Imports more than 15 modules: 19, half of them for types. It connects the queue, which knows nothing of elections,
// with the election.
import type { Contender } from '../lock/queue/contender.js';
import { joinQueue } from '../lock/queue/join.js';
import { parseEntry } from '../lock/queue/order.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { abortable, ignore } from '../platform/async/promises.js';
import type { Session } from '../session/session.js';
import type { Advertisement } from './advertisement.js';
import { Campaign, type CampaignListener } from './campaign.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import { candidateUuid } from './nodes/candidate-uuid.js';
import { recordPath, type Vacancy } from './nodes/record.js';
import { RequestHandler, type RequestHandlerPort } from './request-handler.js';
import { nextLeader } from './successor/next-leader.js';
import type { MarkedSuccessor } from './successor/successor.js';
import { SuccessorSearch } from './successor/successor-search.js';
import type { Claim } from './term/claim.js';
import type { Claims } from './term/claimant.js';
import { leaveQueue } from './term/leave-queue.js';
import { type GivenTerm, Release } from './term/release.js';

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
  #release: Release | undefined;

  private constructor(
    host: QueuePlaceHost,
    contender: Contender,
    search: SuccessorSearch,
    vacancy: Vacancy | undefined,
  ) {
    const { session, options, claims } = host;
    this.#host = host;
    this.#contender = contender;
    this.#search = search;
    this.#requestHandler = new RequestHandler(session, options.onRevoke, host);
    this.#campaign = new Campaign(contender, claims, options.seats, host, vacancy);
  }

  /**
   * Joins the queue, and reads the record meanwhile.
   * @throws the signal's reason, the error that ended the session, or what `joinQueue` and `Claims.prepare` throw.
   *   Before it throws, it leaves a place that it has taken
   */
  static async join(host: QueuePlaceHost, signal: Abortable): Promise<QueuePlace> {
    const { session, path, options, claims, advertisement } = host;
    const { revision } = advertisement;
    const search = new SuccessorSearch(session, path);
    if (session.state.name !== 'connected') await session.whenConnected(signal); // The servers grant the lease with the connection.
    const { leaseMs, environment } = session; // The lease never gets longer.
    const takeover = options.takeover === 'lease' ? options.takeover : undefined;
    const id = candidateUuid(environment.uuid(), options.priority, { leaseMs, takeover });
    const preparing = claims.prepare();
    const join = { id, data: advertisement.bytes(), parse: parseEntry, beats: true, signal };
    const joining = joinQueue(session, path, join);
    try {
      const [contender, vacancy] = await abortable(Promise.all([joining, preparing]), signal);
      advertisement.created(revision);
      return new QueuePlace(host, contender, search, vacancy);
    } catch (error) {
      // There may be no node, or the session may be over.
      await host.untilLeft(
        joining.then((contender) => leaveQueue(contender, search, recordIn(host))).catch(ignore),
      );
      throw error;
    }
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
    const claim = await this.#campaign.untilElected(signal);
    this.#release = new Release(this.#contender, claim, this.#search);
    return claim;
  }

  /** Handles the requests that others write on the elector's node, now and after each change. */
  handleRequests(): void {
    this.#requestHandler.handle(this.#contender, this.#campaign);
  }

  /** The candidate with that id, or whose node has that name. @throws NoCandidateError if there is no such candidate */
  find(candidate: string): Promise<MarkedSuccessor> {
    return this.#search.named(candidate, this.#contender.entry);
  }

  /**
   * Gives the term and the place back, in one write. Resolves when the write has begun; {@link leave} waits for its
   * end.
   * @param named - the candidate that is to lead next. By default the queue is listed now
   */
  async release(named?: MarkedSuccessor): Promise<void> {
    const isHandedOver = this.#host.options.seats === 1; // With several seats the queue alone decides which candidate leads next.
    const successor = isHandedOver ? (named ?? (await nextLeader(this.#search, this.#contender))) : undefined;
    void this.#release?.give(successor);
  }

  /** Given once the servers have answered the release of the term. */
  get given(): GivenTerm | undefined {
    return this.#release?.given;
  }

  /** Gives the place back, unless that has been done together with the term. Never rejects. */
  leave(): Promise<void> {
    return this.#host.untilLeft(leaveQueue(this.#contender, this.#search, recordIn(this.#host)));
  }
}

/** The path of the record that a leader may hand over: the election's own. With several seats there is none. */
function recordIn({ path, options }: QueuePlaceHost): string | undefined {
  return options.seats === 1 ? recordPath(path) : undefined;
}

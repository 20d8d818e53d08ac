// Imports more than 15 modules: 16, half of them for types; it ties the queue, which knows no election, to the election.
import type { Contender } from '../lock/queue/contender.js';
import { joinQueue, withdraw } from '../lock/queue/join.js';
import { parseEntry } from '../lock/queue/order.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { abortable } from '../platform/async/promises.js';
import type { Session } from '../session/session.js';
import type { Advertisement } from './advertisement.js';
import { Campaign, type CampaignListener } from './campaign.js';
import type { ResolvedElectorOptions } from './elector-options.js';
import { uuidWithPriority } from './nodes/priority.js';
import type { ExpectedRecord } from './nodes/record.js';
import { RequestHandler, type RequestHandlerPort } from './request-handler.js';
import { ReleasePlan } from './successor/release-plan.js';
import { Successor } from './successor/successor.js';
import type { Claim } from './term/claim.js';
import type { Claims } from './term/claimant.js';

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
  readonly #successor: Successor;
  readonly #requestHandler: RequestHandler;
  /** With one seat. With several the queue alone decides who leads next. */
  readonly #releasePlan: ReleasePlan | undefined;
  #next: ReturnType<ReleasePlan['next']> | undefined;

  private constructor(
    host: QueuePlaceHost,
    contender: Contender,
    successor: Successor,
    expected: ExpectedRecord | undefined,
  ) {
    const { session, options, claims } = host;
    this.#host = host;
    this.#contender = contender;
    this.#successor = successor;
    this.#requestHandler = new RequestHandler(session, options.onRevoke, host);
    if (options.seats === 1)
      this.#releasePlan = new ReleasePlan(session, successor, contender, () => this.#requestHandler.lastRead);
    this.#campaign = new Campaign(contender, claims, options.seats, host, this.#releasePlan, expected);
  }

  /**
   * Joins the queue. With a priority, it first marks the leader's node: from `waiting` on, the leader considers it.
   * @throws the signal's reason, what ended the session, what `joinQueue` and `Claims.prepare` throw; a place taken is left
   */
  static async join(host: QueuePlaceHost, signal: Abortable): Promise<QueuePlace> {
    const { session, path, options, claims, advertisement } = host;
    const { bytes, revision } = advertisement;
    const id = uuidWithPriority(session.environment.uuid(), options.priority);
    const successor = new Successor(session, path);
    const preparing = claims.prepare();
    const joining = joinQueue(session, path, { id, data: bytes, parse: parseEntry, signal });
    try {
      const announced = joining.then((contender) =>
        options.priority > 0 ? successor.reportPriority(contender) : undefined,
      );
      const [contender, expected] = await abortable(Promise.all([joining, preparing, announced]), signal);
      advertisement.created(revision);
      return new QueuePlace(host, contender, successor, expected);
    } catch (error) {
      await host.untilLeft(withdraw(joining));
      throw error;
    }
  }

  /** The elector's node in the queue, and its lease. */
  get node(): Contender['node'] {
    return this.#contender.node;
  }

  /** Writes what the elector advertises on the node, unless that says so already. @throws as `Advertisement.publish` does */
  publish(signal?: Abortable): Promise<void> {
    return this.#host.advertisement.publish(this.#host.session, this.node, signal);
  }

  /** Waits for its turn, or for a nomination, and claims. @throws as `Campaign.untilElected` does */
  async untilElected(signal: Abortable): Promise<Claim> {
    this.handleRequests();
    await this.publish(signal);
    return await this.#campaign.untilElected(signal);
  }

  /** Handles what others ask of the elector on its node, now and whenever that changes. */
  handleRequests(): void {
    this.#requestHandler.handle(this.#contender, this.#campaign);
  }

  /** Nominates the next leader. Gives the name of its node. @throws NoCandidateError if there is no such candidate */
  nominate(candidate: string): Promise<string> {
    return this.#successor.nominate(candidate, this.#contender);
  }

  /** Finds out which candidate leads next, while the work settles. @param nominated - the node that the leader nominated */
  planRelease(nominated?: string): void {
    this.#next =
      nominated === undefined ? this.#releasePlan?.next() : Promise.resolve({ successor: nominated });
  }

  /** Gives the term and the place back, in one write. Resolves when that has begun: {@link leave} waits for it. */
  async release(claim: Claim): Promise<void> {
    const next = await this.#next;
    void this.#host.claims.release(this.#contender, claim, next); // Never rejects.
  }

  /** Gives the place back, if that hasn't been done with the term. Never rejects. */
  leave(): Promise<void> {
    return this.#host.untilLeft(this.#contender.leave());
  }
}

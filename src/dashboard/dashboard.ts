import type { OverviewChange } from '../overview/model/view-types.js';
import { Overview } from '../overview/overview.js';
import { ignore, settledWithin } from '../platform/async/promises.js';
import { type Logger, resolveLogger } from '../platform/logging/logger.js';
import type { Clock } from '../platform/time/clock.js';
import {
  type DashboardOptions,
  type ResolvedDashboardOptions,
  resolveDashboardOptions,
} from './dashboard-options.js';
import { actOnElection, actOnGroup, bodyOf, CLOSED, NO_SERVER, requestErrorOf } from './operator-actions.js';
import { accessOf, hostRefusal, originRefusal, RequestError, type Visit, visitOf } from './request-guards.js';
import { eventStream, failure, json, page, pageBytes } from './responses.js';
import { type ActionRoute, methodsOf, routeOf, type ShownRoute } from './routes.js';
import { objectOf, SnapshotCache } from './snapshot-cache.js';
import { eventOf, MOST_ANSWERS, MOST_STREAMS, UnfinishedResponses } from './unfinished-responses.js';

/** Answers requests to a dashboard. Never rejects. */
export interface DashboardHandler {
  (request: Request, visitor?: Visitor): Promise<Response>;
  /** Ends all streams and the dashboard's own sessions, and refuses requests from now on. Resolves after 2 s at most. Never rejects. */
  close(): Promise<void>;
}

/**
 * Serves a page on which operators see the elections, locks and groups of shards below a root, live, and the JSON of that page. It is one
 * handler, which you can mount in any server that uses web-standard requests. For node:http see `toNodeListener`.
 *
 * It begins to read at once, and shows events since then. Many visitors cost the ZooKeeper servers no more than one.
 *
 * **Security.** Without `authorize` it is read-only, and answers only visitors on this machine. An action is a POST request from the
 * dashboard's own origin for which `authorize` returns `'act'`. See docs/operations/dashboard.md.
 *
 * @throws InvalidOptionError if an option is wrong
 *
 * @example
 * ```ts
 * const handler = dashboard({ connect: 'zk1:2181,zk2:2181', root: '/elections' });
 * createServer(toNodeListener(handler)).listen(7070, '127.0.0.1');
 * ```
 */
export function dashboard(options: DashboardOptions): DashboardHandler {
  const server = new DashboardServer(resolveDashboardOptions(options));
  const handler = (request: Request, visitor?: Visitor) => server.answer(request, visitor);
  return Object.assign(handler, { close: () => server.close() });
}

/** Facts about a visitor that aren't in its request. */
interface Visitor {
  /**
   * The address at the other end of its connection. Without it the name of the host that it has asked for says whether it is on this
   * machine.
   */
  readonly remoteAddress?: string | undefined;
}

/** How long a request waits for the first reading. */
const FIRST_READING_MS = 5000;

/** Answers the requests to one dashboard. */
export class DashboardServer {
  readonly #options: ResolvedDashboardOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #overview: Overview;
  readonly #answers: UnfinishedResponses;
  readonly #shared: SnapshotCache;
  /** Resolves when all was read once, or can't be. Never rejects. */
  readonly #begun: Promise<void>;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(options: ResolvedDashboardOptions) {
    this.#options = options;
    const { from, overview } = options;
    this.#clock = options.clock;
    this.#logger = resolveLogger(overview.logger ?? overview.session?.logger);
    this.#overview = new Overview(from, overview);
    this.#shared = new SnapshotCache(this.#clock, () => this.#overview.state);
    this.#answers = new UnfinishedResponses(
      this.#clock,
      () => this.#overview.attend(),
      (chunk) => this.#shared.holds(chunk),
    );
    this.#overview.on('change', (change) => this.#changed(change));
    this.#begun = this.#begin();
  }

  async #begin(): Promise<void> {
    try {
      await this.#overview.start();
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#logger.warn({ err: error }, "the dashboard can't read");
    }
  }

  #changed(change: OverviewChange): void {
    if (!this.#answers.isFollowed && !this.#shared.needsChanges) return;
    const event = eventOf('change', { now: this.#now, ...change });
    this.#shared.changed(event);
    this.#answers.send(event);
  }

  get #now(): number {
    return this.#clock.date().getTime();
  }

  async answer(request: Request, { remoteAddress }: Visitor = {}): Promise<Response> {
    const answered = this.#answer(request, remoteAddress);
    const response = await answered.catch((error: unknown) => this.#failed(error));
    if (request.method !== 'HEAD') return response;
    await response.body?.cancel().catch(ignore); // It may have been cut off.
    return new Response(null, response);
  }

  #failed(error: unknown): Response {
    if (error instanceof RequestError) return failure(error);
    this.#logger.warn({ err: error }, 'a request to the dashboard has failed');
    return failure(new RequestError(500, 'INTERNAL', "the request has failed: see the dashboard's log"));
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort(CLOSED);
    this.#answers.close();
    await this.#overview.stop();
  }

  /** @throws RequestError, or the error of `authorize` */
  async #answer(request: Request, remoteAddress: string | undefined): Promise<Response> {
    this.#closing.signal.throwIfAborted();
    const visit = visitOf(request, remoteAddress);
    const route = routeOf(new URL(request.url).pathname, this.#options.path);
    // Says nothing but that; what asks may know the machine by any name, as Kubernetes by the pod's address.
    const refusal = route.name === 'healthz' ? undefined : hostRefusal(visit, this.#options.hosts);
    if (refusal !== undefined) throw refusal;
    if (route.name === 'unknown') throw NOT_FOUND;
    const methods = methodsOf(route);
    if (!methods.includes(request.method)) {
      const message = `${request.method} is not allowed here: use ${methods.join(' or ')}`;
      return failure(new RequestError(405, 'METHOD_NOT_ALLOWED', message), { allow: methods.join(', ') });
    }
    if ('action' in route) return await this.#act(route, request, visit);
    if (route.name === 'healthz') return this.#health();
    const access = await this.#accessOf(request, visit);
    if (route.name !== 'page') await settledWithin(this.#clock, this.#begun, FIRST_READING_MS);
    this.#closing.signal.throwIfAborted();
    if (this.#answers.areFull) throw TOO_MANY_ANSWERS;
    return this.#show(route, request, access);
  }

  /** @throws RequestError if the visitor may not even read */
  async #accessOf(request: Request, visit: Visit): Promise<'read' | 'act'> {
    const { authorize } = this.#options;
    const access = await accessOf(request, visit, authorize);
    if (access === false) throw authorize === undefined ? NOT_LOCAL : NOT_AUTHORIZED;
    return access;
  }

  #show(route: ShownRoute, { signal }: Request, access: 'read' | 'act'): Response {
    const answer = (chunks: readonly Uint8Array[]) => this.#answers.answer(chunks, signal);
    switch (route.name) {
      case 'page':
        return page(answer([pageBytes]));
      case 'state':
        return json(200, answer(this.#stateFor(access).chunks));
      case 'events': {
        if (this.#answers.streamsAreFull) throw TOO_MANY_STREAMS;
        const { chunks, changes } = this.#stateFor(access, '\n\n');
        const begin = [Buffer.from('event: state\ndata: '), ...chunks, ...changes];
        return eventStream(this.#answers.follow(begin, signal));
      }
      case 'election': {
        const election = this.#overview.state.elections.find(({ path }) => path === route.path);
        if (election === undefined) throw NOT_FOUND;
        return json(200, answer([Buffer.from(JSON.stringify(election))]));
      }
      case 'elections':
      case 'locks':
      case 'groups':
      case 'servers': {
        const part = this.#shared.snapshot.parts.get(route.name) as Uint8Array;
        return json(200, answer(objectOf({}, [[route.name, part]])));
      }
    }
  }

  #health(): Response {
    const { connected } = this.#overview.state;
    return json(connected ? 200 : 503, { connected });
  }

  /** As a `DashboardState`. @param rest - follows it */
  #stateFor(access: 'read' | 'act', rest = '') {
    const { parts, changes } = this.#shared.snapshot;
    const { root } = this.#overview;
    return { chunks: objectOf({ now: this.#now, root, mayAct: access === 'act' }, parts, rest), changes };
  }

  async #act(route: ActionRoute, request: Request, visit: Visit): Promise<Response> {
    const foreign = originRefusal(request.headers, visit);
    if (foreign !== undefined) throw foreign;
    const own = request.clone(); // `authorize` may read the body.
    if ((await this.#accessOf(request, visit)) === 'read') throw READ_ONLY;
    const { path, action } = route;
    try {
      const signal = AbortSignal.any([request.signal, this.#closing.signal]);
      const body = await bodyOf(own, signal);
      await settledWithin(this.#clock, this.#begun, FIRST_READING_MS);
      const { state, session } = this.#overview;
      const views = route.name === 'group-action' ? state.groups : state.elections;
      if (!views.some((view) => view.path === path)) throw NOT_FOUND;
      if (session === undefined) throw NO_SERVER;
      const done =
        route.name === 'group-action'
          ? await actOnGroup(session, route, body, signal)
          : await actOnElection(session, route, body, signal);
      this.#logger.info({ path, action, ...done }, 'an operator has acted');
      return json(200, { ok: true, ...done });
    } catch (error) {
      const refusal = requestErrorOf(error);
      if (refusal.status === 500) this.#logger.error({ path, action, err: error }, 'an action has failed');
      throw refusal;
    }
  }
}

const TOO_MANY_STREAMS = new RequestError(
  503,
  'TOO_MANY_STREAMS',
  `${MOST_STREAMS} visitors already follow the events, and no more can at the same time`,
);
const TOO_MANY_ANSWERS = new RequestError(
  503,
  'TOO_MANY_ANSWERS',
  `${MOST_ANSWERS} answers are being read, and no more can be at the same time`,
);
const NOT_LOCAL = new RequestError(
  403,
  'NOT_LOCAL',
  'without the option authorize, the dashboard answers only visitors on its own machine',
);
const NOT_AUTHORIZED = new RequestError(403, 'NOT_AUTHORIZED', 'this visitor is not authorized');
const READ_ONLY = new RequestError(403, 'READ_ONLY', 'this visitor may read, and not act');
const NOT_FOUND = new RequestError(404, 'NOT_FOUND', 'not found');

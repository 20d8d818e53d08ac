import type { OverviewChange } from '../overview/model/view-types.js';
import { Overview } from '../overview/overview.js';
import { settledWithin } from '../platform/async/promises.js';
import { type Logger, resolveLogger } from '../platform/logging/logger.js';
import type { Clock } from '../platform/time/clock.js';
import {
  type DashboardOptions,
  type ResolvedDashboardOptions,
  resolveDashboardOptions,
  type VisitorAccess,
} from './dashboard-options.js';
import {
  type ActionError,
  actionErrorOf,
  actOnElection,
  actOnGroup,
  bodyOf,
  CLOSED,
  NO_SERVER,
} from './operator-actions.js';
import { accessOf, hostRefusal, originRefusal, type Visit, visitOf } from './request-guards.js';
import { eventStream, failure, json, page, pageBytes } from './responses.js';
import { type ActionRoute, isAction, methodsOf, type Route, routeOf } from './routes.js';
import { encode, objectOf, SnapshotCache } from './snapshot-cache.js';
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
      if (!this.#closing.signal.aborted) this.#warn(error, "the dashboard can't read");
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

  #warn(error: unknown, message: string): void {
    this.#logger.warn({ err: error }, message);
  }

  async answer(request: Request, { remoteAddress }: Visitor = {}): Promise<Response> {
    try {
      const response = await this.#answer(request, visitOf(request, remoteAddress));
      if (request.method !== 'HEAD') return response;
      await response.body?.cancel();
      return new Response(null, response);
    } catch (error) {
      this.#warn(error, 'a request to the dashboard has failed');
      return failure(500, {
        code: 'INTERNAL',
        message: "the request has failed: see the dashboard's log",
      });
    }
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

  async #answer(request: Request, visit: Visit): Promise<Response> {
    if (this.#closing.signal.aborted) return failure(CLOSED.status, CLOSED);
    const route = routeOf(new URL(request.url).pathname, this.#options.path);
    // Says nothing but that; what asks may know the machine by any name, as Kubernetes by the pod's address.
    const refusal = route.name === 'healthz' ? undefined : hostRefusal(visit, this.#options.hosts);
    if (refusal !== undefined) return failure(403, refusal);
    if (route.name === 'unknown') return failure(404, NOT_FOUND);
    const methods = methodsOf(route);
    if (!methods.includes(request.method)) {
      const message = `${request.method} is not allowed here: use ${methods.join(' or ')}`;
      return failure(405, { code: 'METHOD_NOT_ALLOWED', message }, { allow: methods.join(', ') });
    }
    if (isAction(route)) return await this.#act(route, request, visit);
    if (route.name === 'healthz') return this.#health();
    const access = await accessOf(request, visit, this.#options.authorize);
    if (access === false) return this.#refused();
    if (route.name !== 'page') await settledWithin(this.#clock, this.#begun, FIRST_READING_MS);
    if (this.#closing.signal.aborted) return failure(CLOSED.status, CLOSED);
    if (this.#answers.areFull) return failure(503, TOO_MANY_ANSWERS);
    return this.#show(route, request, access);
  }

  #refused(): Response {
    return failure(403, this.#options.authorize === undefined ? NOT_LOCAL : NOT_AUTHORIZED);
  }

  #show(route: Route, { signal }: Request, access: VisitorAccess): Response {
    const answer = (chunks: readonly Uint8Array[]) => this.#answers.answer(chunks, signal);
    switch (route.name) {
      case 'page':
        return page(answer([pageBytes]));
      case 'state':
        return json(200, answer(this.#stateFor(access).chunks));
      case 'events': {
        if (this.#answers.streamsAreFull) return failure(503, TOO_MANY_STREAMS);
        const { chunks, changes } = this.#stateFor(access, '\n\n');
        return eventStream(
          this.#answers.follow([encode('event: state\ndata: '), ...chunks, ...changes], signal),
        );
      }
      case 'election': {
        const election = this.#overview.state.elections.find(({ path }) => path === route.path);
        return election === undefined
          ? failure(404, NOT_FOUND)
          : json(200, answer([encode(JSON.stringify(election))]));
      }
      case 'elections':
      case 'locks':
      case 'groups':
      case 'servers': {
        const part = this.#shared.snapshot.parts.get(route.name) as Uint8Array;
        return json(200, answer(objectOf({}, [[route.name, part]])));
      }
      case 'healthz':
        return this.#health();
      case 'election-action':
      case 'group-action':
      case 'unknown':
        return failure(404, NOT_FOUND);
    }
  }

  #health(): Response {
    const { connected } = this.#overview.state;
    return json(connected ? 200 : 503, { connected });
  }

  /** As a `DashboardState`. @param rest - follows it */
  #stateFor(access: VisitorAccess, rest = '') {
    const { parts, changes } = this.#shared.snapshot;
    const { root } = this.#overview;
    return { chunks: objectOf({ now: this.#now, root, mayAct: access === 'act' }, parts, rest), changes };
  }

  async #act(route: ActionRoute, request: Request, visit: Visit): Promise<Response> {
    const foreign = originRefusal(request.headers, visit);
    if (foreign !== undefined) return failure(403, foreign);
    const own = request.clone(); // `authorize` may read the body.
    const access = await accessOf(request, visit, this.#options.authorize);
    if (access === false) return this.#refused();
    if (access === 'read') return failure(403, READ_ONLY);
    try {
      const signal = AbortSignal.any([request.signal, this.#closing.signal]);
      const body = await bodyOf(own, signal);
      await settledWithin(this.#clock, this.#begun, FIRST_READING_MS);
      const { elections, groups } = this.#overview.state;
      const isGroup = route.name === 'group-action';
      const { session } = this.#overview;
      const views: readonly { readonly path: string }[] = isGroup ? groups : elections;
      if (!views.some(({ path }) => path === route.path)) return failure(404, NOT_FOUND);
      if (session === undefined) throw NO_SERVER;
      const done =
        route.name === 'group-action'
          ? await actOnGroup(session, route, body, signal)
          : await actOnElection(session, route, body, signal);
      this.#logger.info({ path: route.path, action: route.action, ...done }, 'an operator has acted');
      return json(200, { ok: true, ...done });
    } catch (error) {
      return this.#failed(actionErrorOf(error), route);
    }
  }

  #failed(error: ActionError, { path, action }: ActionRoute): Response {
    const { status, code, message, cause } = error;
    if (status === 500) this.#logger.error({ path, action, err: cause }, 'an action has failed');
    return failure(status, { code, message });
  }
}

const TOO_MANY_STREAMS = {
  code: 'TOO_MANY_STREAMS',
  message: `${MOST_STREAMS} visitors already follow the events, and no more can at the same time`,
};
const TOO_MANY_ANSWERS = {
  code: 'TOO_MANY_ANSWERS',
  message: `${MOST_ANSWERS} answers are being read, and no more can be at the same time`,
};
const NOT_LOCAL = {
  code: 'NOT_LOCAL',
  message: 'without the option authorize, the dashboard answers only visitors on its own machine',
};
const NOT_AUTHORIZED = { code: 'NOT_AUTHORIZED', message: 'this visitor is not authorized' };
const READ_ONLY = { code: 'READ_ONLY', message: 'this visitor may read, and not act' };
const NOT_FOUND = { code: 'NOT_FOUND', message: 'not found' };

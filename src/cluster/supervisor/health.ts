import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Term } from '../../election/term/term.js';
import { InvalidOptionError } from '../../errors.js';
import type { OpenCandidacy } from './supervised-elector.js';
import type { SupervisorState } from './supervision-loop.js';

/** The condition of a supervisor, for a health check. */
export interface Health {
  /**
   * Whether the supervisor contends for leadership, leads, or is on its way to do so again. On its way it cleans up, cools down,
   * or looks for a server, for any length of time: a new process wouldn't find a server sooner. A supervisor isn't live if it
   * is wedged, has stopped, or was never started.
   */
  readonly live: boolean;
  /** Whether it leads, or has a place in the queue and a server that would notify it of its turn. */
  readonly ready: boolean;
  /** Whether it leads at this very moment, by its lease. */
  readonly leading: boolean;
  /**
   * Whether the work of a term still runs although its lease is over: another process may lead, and this work may act beside it.
   * Or the work still runs although the supervisor was stopped a lease ago: no other process can lead before the work has
   * settled, as long as heartbeats arrive. The supervisor doesn't go on before that. Restart a process that stays wedged.
   */
  readonly wedged: boolean;
  /** Why, in a few words each; empty when all is well. */
  readonly reasons: readonly string[];
}

/** The time, and until when the supervisor stays out of the election, both by its clock. */
export interface HealthTimes {
  readonly now: number;
  readonly coolUntil: number;
}

const WELL: Health = { live: true, ready: true, leading: false, wedged: false, reasons: [] };

export function healthOf(state: SupervisorState<OpenCandidacy>, times: HealthTimes): Health {
  if ('participation' in state) return candidateHealth(state.participation, times);
  return { ...WELL, ready: false, ...outsideHealth(state, times) };
}

/** The health of a supervisor that doesn't take part now: whether it will do so by itself, and why it doesn't now. */
export function outsideHealth(
  state: Exclude<SupervisorState<never>, { readonly participation: never }>,
  times: HealthTimes,
): Pick<Health, 'live' | 'reasons'> {
  switch (state.name) {
    case 'idle':
      return { live: false, reasons: ['not started'] };
    case 'connecting':
      return {
        live: true,
        reasons: [`no session for ${since(state.sinceMs, times)} ms, attempt ${state.attempt}`],
      };
    case 'pausing':
      return { live: true, reasons: [`${state.why}; tries again in ${until(state.untilMs, times)} ms`] };
    case 'cleaning': {
      const again = state.attempt > 1 ? `, attempt ${state.attempt}` : '';
      return { live: true, reasons: [`the clean-up hook runs${again}`] };
    }
    case 'cooling':
      return { live: true, reasons: [coolsDown(times)] };
    case 'stopped':
      return { live: false, reasons: ['stopped'] };
  }
}

function candidateHealth({ elector, session }: OpenCandidacy, times: HealthTimes): Health {
  const serverLost = session.state.name === 'suspended';
  const reasons = serverLost ? [`no server for ${since(session.state.sinceMs, times)} ms`] : [];
  // `isHeld()` ends a term whose lease is over: the state is read after that.
  if (elector.state.name === 'leading' && elector.state.term.isHeld()) {
    const { preparingMs } = elector;
    if (preparingMs !== undefined)
      reasons.unshift(`lead has waited for prepare for ${preparingMs} ms in the term`);
    return { ...WELL, leading: true, reasons };
  }
  const { state, isOverdue, isWedged } = elector;
  switch (state.name) {
    case 'waiting':
    case 'claiming':
      return { ...WELL, ready: !serverLost, reasons };
    case 'leading':
    case 'ending': {
      const why = state.name === 'ending' ? state.reason : 'lease-expired';
      const wedged = isOverdue || isWedged;
      const beyond = isWedged ? 'though the lease is over' : 'a lease after it was told to stop';
      const work = wedged ? `its work still runs, ${beyond}` : 'its work still has to settle';
      reasons.unshift(`the term has ended (${why}), ${work}`);
      return { ...WELL, live: !wedged, ready: false, wedged, reasons };
    }
    case 'joining':
      if (times.coolUntil > times.now) reasons.unshift(coolsDown(times));
      else reasons.unshift('the elector is joining');
      return { ...WELL, ready: false, reasons };
    case 'idle':
    case 'starting':
    case 'stopped':
    case 'expired':
      return { ...WELL, ready: false, reasons: [`the elector is ${state.name}`, ...reasons] };
  }
}

function coolsDown(times: HealthTimes): string {
  return `cools down after a loss, for another ${until(times.coolUntil, times)} ms`;
}

function until(ms: number, { now }: HealthTimes): number {
  return Math.ceil(Math.max(0, ms - now));
}

function since(ms: number, { now }: HealthTimes): number {
  return Math.round(now - ms);
}

/** What {@link healthHandler} needs: each `ElectionSupervisor` and each `ShardSupervisor` has it. */
export interface HealthSource {
  /** The name of the candidate, or of the member. */
  readonly id: string;
  /** Its health now. */
  health(): { readonly live: boolean; readonly ready: boolean; readonly reasons: readonly string[] };
  /** The term that this process leads. A `ShardSupervisor` has none. */
  readonly term?: Pick<Term, 'number' | 'token' | 'isHeld' | 'remainingMs'> | undefined;
}

const METHODS = ['GET', 'HEAD'];

/**
 * Answers health checks over HTTP, for Kubernetes, load balancers and people. You may mount it anywhere: only the end of the
 * request's path counts. Each answer is JSON, and tells caches not to keep it.
 *
 * - `/livez`: 200 while `health().live`, else 503: restart the process. The body is the value of `health()`.
 * - `/readyz`: 200 while `health().ready`, else 503. A waiting candidate is ready as well as a leader: see
 *   docs/operations/stopping-and-health.md.
 * - `/leader`: 200 with `{ leading, id, term, token, remainingMs }` while this process leads by its lease, else 503 with
 *   `{ leading, id }`. The token is a string, since JSON has no numbers of that size. A supervisor of shards has no such page.
 *
 * `HEAD` gets the same without a body. Another method gets 405, another path 404.
 *
 * Not guaranteed: that a process which has answered 200 at `/leader` still leads when the answer arrives. Use the answer as a hint, for
 * routing. If work must happen under one leader alone, ask `term.isHeld()` where it happens, or fence it.
 *
 * @returns a function that takes a `Request` and returns a `Response`, or takes the request and the response of `node:http`, which Express
 *   has too. It never rejects
 * @throws InvalidOptionError if it isn't a supervisor
 *
 * @example
 * ```ts
 * createServer(healthHandler(supervisor)).listen(8080);
 * ```
 */
export function healthHandler(supervisor: HealthSource): {
  (request: Request): Promise<Response>;
  (request: IncomingMessage, response: ServerResponse): Promise<void>;
} {
  if (typeof (supervisor as Partial<HealthSource> | undefined)?.health !== 'function')
    throw new InvalidOptionError('supervisor', supervisor, 'an ElectionSupervisor or a ShardSupervisor');
  async function handle(request: Request): Promise<Response>;
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  async function handle(request: Request | IncomingMessage, response?: ServerResponse): Promise<unknown> {
    const { url = '', method = 'GET' } = request;
    const { status, headers, body } = answerTo(supervisor, url, method);
    // Bun and Next pass something else in the second place.
    if (request instanceof Request || response === undefined) return new Response(body, { status, headers });
    return void response.writeHead(status, headers).end(body);
  }
  return handle;
}

function answerTo(supervisor: HealthSource, url: string, method: string) {
  const [path = ''] = url.split(/[?#]/, 1);
  const page = pageOf(supervisor, path.slice(path.lastIndexOf('/') + 1));
  if (page === undefined) return answer(404, { error: 'not found: use /livez, /readyz or /leader' }, method);
  if (!METHODS.includes(method))
    return answer(405, { error: `${method} is not allowed` }, method, { allow: METHODS.join(', ') });
  return answer(page.isWell ? 200 : 503, page.body, method);
}

interface Page {
  readonly isWell: boolean;
  readonly body: object;
}

function pageOf(supervisor: HealthSource, name: string): Page | undefined {
  if (name === 'leader' && 'term' in supervisor) return leaderPage(supervisor);
  if (name !== 'livez' && name !== 'readyz') return undefined;
  const health = supervisor.health();
  return { isWell: name === 'livez' ? health.live : health.ready, body: health };
}

function leaderPage({ id, term }: HealthSource): Page {
  if (term === undefined || !term.isHeld()) return { isWell: false, body: { leading: false, id } };
  const { number, token } = term;
  const remainingMs = Math.floor(term.remainingMs());
  return { isWell: true, body: { leading: true, id, term: number, token: String(token), remainingMs } };
}

function answer(status: number, body: object, method: string, headers: Record<string, string> = {}) {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: method === 'HEAD' ? null : JSON.stringify(body),
  };
}

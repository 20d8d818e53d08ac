import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Term } from '../../election/term/term.js';
import { InvalidOptionError } from '../../errors.js';

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

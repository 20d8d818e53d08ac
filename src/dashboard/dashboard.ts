import { type DashboardOptions, resolveDashboardOptions } from './dashboard-options.js';
import { DashboardServer, type Visitor } from './dashboard-server.js';

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
 * dashboard's own origin that `authorize` allows. See docs/operations/dashboard.md.
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

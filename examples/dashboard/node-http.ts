/** The dashboard in a server of node:http, below one path. */
import { createServer } from 'node:http';
import { type DashboardHandler, toNodeListener } from 'conclave/dashboard';

export function nodeHttp(dashboard: DashboardHandler) {
  const listener = toNodeListener(dashboard);
  return createServer((request, response) => {
    if (request.url?.startsWith('/admin/conclave/')) listener(request, response);
    else response.writeHead(404).end();
  });
}

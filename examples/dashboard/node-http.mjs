/** The dashboard as the whole of a node:http server, or as a part of one. */
import { createServer } from 'node:http';
import { toNodeListener } from 'conclave/dashboard';

/** @param {import('conclave/dashboard').DashboardHandler} dashboard */
export function nodeHttp(dashboard) {
  const listener = toNodeListener(dashboard);
  return createServer((request, response) => {
    if (request.url?.startsWith('/admin/conclave/')) listener(request, response);
    else response.writeHead(404).end();
  });
}

/** The dashboard in Hono, as in any server with web-standard requests. The second argument has the address of the visitor. */
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { DashboardHandler } from 'conclave/dashboard';
import { Hono } from 'hono';

export function withHono(dashboard: DashboardHandler) {
  const app = new Hono();
  app.all('/admin/conclave/*', (context) =>
    dashboard(context.req.raw, { remoteAddress: getConnInfo(context).remote.address }),
  );
  const listener = getRequestListener(app.fetch);
  return createServer((request, response) => void listener(request, response));
}

/** The dashboard in Hono, as in any server that has web-standard requests. The second argument says where a visitor is. */
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { Hono } from 'hono';

/** @param {import('conclave/dashboard').DashboardHandler} dashboard */
export function withHono(dashboard) {
  const app = new Hono();
  app.all('/admin/conclave/*', (context) =>
    dashboard(context.req.raw, { remoteAddress: getConnInfo(context).remote.address }),
  );
  return createServer(getRequestListener(app.fetch));
}

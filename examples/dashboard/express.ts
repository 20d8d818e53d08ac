/** The dashboard in Express. */
import { createServer } from 'node:http';
import { type DashboardHandler, toNodeListener } from 'conclave/dashboard';
import express from 'express';

export function withExpress(dashboard: DashboardHandler) {
  const app = express();
  app.use('/admin/conclave', toNodeListener(dashboard));
  return createServer(app);
}

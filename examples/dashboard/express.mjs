/** The dashboard in Express. */
import { createServer } from 'node:http';
import { toNodeListener } from 'conclave/dashboard';
import express from 'express';

/** @param {import('conclave/dashboard').DashboardHandler} dashboard */
export function withExpress(dashboard) {
  const app = express();
  app.use('/admin/conclave', toNodeListener(dashboard));
  return createServer(app);
}

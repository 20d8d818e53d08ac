import express from 'express';
import { leaderOnly } from './leader-only.mjs';

/**
 * @param {import('conclave').ElectionSupervisor} supervisor
 * @param {(item: string, token: bigint) => Promise<void>} store the writes: it refuses a token that is lower than one before
 */
export function createApp(supervisor, store) {
  const app = express();
  app.get('/livez', (_, response) => void response.sendStatus(supervisor.health().live ? 200 : 503));
  app.get('/readyz', (_, response) => void response.sendStatus(supervisor.health().ready ? 200 : 503));
  app.post('/items/:item', leaderOnly(supervisor), async (request, response) => {
    const { term } = response.locals;
    term.assertHeld(); // Right before the write: the middleware's answer is old by now.
    await store(request.params.item, term.token);
    response.sendStatus(201);
  });
  return app;
}

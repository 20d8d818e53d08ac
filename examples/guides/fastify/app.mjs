import Fastify from 'fastify';
import { leaderOnly } from './leader-only.mjs';

/**
 * @param {import('conclave').ElectionSupervisor} supervisor
 * @param {(item: string, token: bigint) => Promise<void>} store the writes: it refuses a token that is lower than one before
 */
export function createApp(supervisor, store) {
  const app = Fastify();
  app.decorateRequest('term');
  app.get('/livez', async (_, reply) => reply.code(supervisor.health().live ? 200 : 503).send());
  app.get('/readyz', async (_, reply) => reply.code(supervisor.health().ready ? 200 : 503).send());
  app.post('/items/:item', { preHandler: leaderOnly(supervisor) }, async (request, reply) => {
    const { item } = /** @type {{ item: string }} */ (request.params);
    const term = /** @type {import('conclave').Term} */ (request.getDecorator('term'));
    term.assertHeld(); // Right before the write: the hook's answer is old by now.
    await store(item, term.token);
    return reply.code(201).send();
  });
  return app;
}

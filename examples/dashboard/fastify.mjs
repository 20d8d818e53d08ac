/** The dashboard in Fastify. It reads bodies itself: within this plugin Fastify leaves them alone. */
import { toNodeListener } from 'conclave/dashboard';
import fastify from 'fastify';

/** @param {import('conclave/dashboard').DashboardHandler} dashboard */
export async function withFastify(dashboard) {
  const app = fastify({ forceCloseConnections: true });
  const listener = toNodeListener(dashboard);
  app.register(
    (scope, _options, done) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, _body, parsed) => parsed(null));
      scope.all('/*', (request, reply) => {
        reply.hijack();
        listener(request.raw, reply.raw);
      });
      done();
    },
    { prefix: '/admin/conclave' },
  );
  await app.ready();
  return app.server;
}

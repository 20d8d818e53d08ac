/** The dashboard in Fastify. The dashboard reads request bodies itself, so this plugin removes Fastify's parsers. */
import { type DashboardHandler, toNodeListener } from 'conclave/dashboard';
import fastify from 'fastify';

export async function withFastify(dashboard: DashboardHandler) {
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

/**
 * Serves the dashboard at /admin/conclave/ of a server of your choice, until SIGINT or SIGTERM.
 *
 *     npx tsx main.ts [node-http | express | fastify | hono | nest]
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ElectionSupervisor } from 'conclave';
import { type DashboardHandler, dashboard } from 'conclave/dashboard';
import { EmbeddedZooKeeper } from 'conclave/testing';

/** Each is loaded only if you choose it, so you need to install no other framework. */
const SERVERS: Record<string, (handler: DashboardHandler) => Promise<Server>> = {
  'node-http': async (handler) => (await import('./node-http.js')).nodeHttp(handler),
  express: async (handler) => (await import('./express.js')).withExpress(handler),
  fastify: async (handler) => (await import('./fastify.js')).withFastify(handler),
  hono: async (handler) => (await import('./hono.js')).withHono(handler),
  nest: async (handler) => (await import('./nest.js')).withNest(handler),
};
const [kind = 'node-http'] = process.argv.slice(2);
const open = SERVERS[kind];
if (open === undefined)
  throw new Error(`${kind} is no server: expected one of ${Object.keys(SERVERS).join(', ')}`);

process.env.CONCLAVE_LOG_LEVEL ??= 'silent'; // In a service of your own, keep the warnings.
const embedded = process.env.ZOOKEEPER ? undefined : await EmbeddedZooKeeper.start();
const connect = embedded?.connectString ?? process.env.ZOOKEEPER ?? '';

// An election to look at.
const supervisors = ['A', 'B', 'C'].map(
  (id) =>
    new ElectionSupervisor({
      connect,
      path: '/examples/dashboard',
      id,
      lead: async ({ signal }) => void (await once(signal, 'abort')),
    }),
);
for (const supervisor of supervisors) {
  supervisor.on('error', (error) => console.error(error));
  await supervisor.start();
}

const handler = dashboard({ connect, root: '/' });
const server = await open(handler);
server.listen(Number(process.env.PORT ?? 7070), '127.0.0.1');
await once(server, 'listening');
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/admin/conclave/`);

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
await handler.close(); // Ends the streams of events, for which the server would wait.
server.close();
for (const supervisor of supervisors) await supervisor.stop();
await embedded?.stop();

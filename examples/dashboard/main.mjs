/** Serves the dashboard at /admin/conclave/ of a server of the kind that is named, until SIGINT or SIGTERM. */
import { once } from 'node:events';
import { dashboard } from 'conclave/dashboard';
import { withExpress } from './express.mjs';
import { withFastify } from './fastify.mjs';
import { withHono } from './hono.mjs';
import { withNest } from './nest.mjs';
import { nodeHttp } from './node-http.mjs';

const KINDS = {
  'node-http': nodeHttp,
  express: withExpress,
  fastify: withFastify,
  hono: withHono,
  nest: withNest,
};
const kind = /** @type {keyof typeof KINDS} */ (process.argv[2] ?? 'node-http');
if (!(kind in KINDS)) throw new Error(`expected one of ${Object.keys(KINDS).join(', ')}`);

const handler = dashboard({ connect: process.env.ZOOKEEPER ?? '127.0.0.1:2181', root: '/' });
const server = await KINDS[kind](handler);
server.listen(Number(process.env.PORT ?? 7070), '127.0.0.1');
await once(server, 'listening');
const address = /** @type {import('node:net').AddressInfo} */ (server.address());
console.log(`http://127.0.0.1:${address.port}/admin/conclave/`);

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
await handler.close(); // Ends the streams of events, for which the server would wait.
server.close();

/**
 * A service of which every replica runs, and one leads: with probes, and a shutdown in good order.
 *
 *     ZOOKEEPER=127.0.0.1:2181 PORT=8080 node service.mjs
 */
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor } from 'conclave';
import { metrics } from 'conclave/metrics';

const [, credentials] = /^digest:(.+)$/.exec(process.env.CONCLAVE_AUTH ?? '') ?? []; // As for `conclave guard`.
const supervisor = new ElectionSupervisor({
  connect: process.env.ZOOKEEPER ?? '127.0.0.1:2181',
  session: credentials ? { auth: { scheme: 'digest', credentials } } : {},
  path: process.env.ELECTION ?? '/shop/scheduler',
  lead: async (term) => {
    while (term.isHeld()) {
      console.log(`tick: term ${term.number}, token ${term.token}`); // Your work, with the token for what it writes to.
      await sleep(1000, undefined, { signal: term.signal });
    }
  },
});
supervisor.on('error', (error) => console.error(error));
supervisor.shutdownOn(['SIGTERM', 'SIGINT'], { deadlineMs: 20_000 });

const measured = metrics(supervisor);
createServer(async ({ url }, response) => {
  if (url === '/metrics') {
    response.setHeader('content-type', measured.contentType);
    return void response.end(await measured.text());
  }
  const { live, ready, reasons } = supervisor.health();
  const isWell = url === '/livez' ? live : ready;
  response.writeHead(isWell ? 200 : 503).end(reasons.join('\n'));
}).listen(process.env.PORT ?? 8080);

await supervisor.start();
process.send?.('ready'); // For PM2's `wait_ready`. Without a parent that listens there is no `send`.

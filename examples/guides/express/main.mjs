/** ZOOKEEPER=127.0.0.1:2181 PORT=8080 node main.mjs */
import { once } from 'node:events';
import { ElectionSupervisor } from 'conclave';
import { createApp } from './app.mjs';

const port = process.env.PORT ?? '8080';
const supervisor = new ElectionSupervisor({
  connect: process.env.ZOOKEEPER ?? '127.0.0.1:2181',
  path: process.env.ELECTION ?? '/shop/items',
  data: process.env.ADDRESS ?? `http://127.0.0.1:${port}`, // Where the other replicas send what is for the leader.
});
supervisor.on('error', (error) => console.error(error));

const app = createApp(supervisor, async (item, token) => console.log(`stored ${item} with token ${token}`));
const server = app.listen(Number(port));
await once(server, 'listening');
supervisor.shutdownOn(['SIGTERM', 'SIGINT'], {
  // Before another replica leads. An open tab may keep a connection, or a stream, for as long as it likes: requests get 3 s to end.
  cleanup: () =>
    new Promise((resolve) => {
      server.close(resolve);
      setTimeout(() => server.closeAllConnections(), 3000).unref();
    }),
});
await supervisor.start();
console.log('ready');

/** Shows an embedded server in a dashboard, and calls the dashboard's handler without a socket. */
import { Session } from 'conclave';
import { dashboard } from 'conclave/dashboard';
import { EmbeddedZooKeeper } from 'conclave/testing';

async function main() {
  const server = await EmbeddedZooKeeper.start();
  const session = await Session.connect(server.connectString);
  const handler = dashboard({ session });
  const page = await handler(new Request('http://localhost/'));
  const state = await handler(new Request('http://localhost/api/state'));
  const { connected } = /** @type {{ connected: boolean }} */ (await state.json());
  console.log(`${page.status} ${page.headers.get('content-type')}, connected: ${connected}`);
  await handler.close();
  await session.close();
  await server.stop();
}

main().catch((error) => {
  console.error(error);
  process.exit(1); // The server would keep the process alive.
});

/** Prints a line as soon as it leads. Arguments: servers, the election's path, session timeout. */
import { LeaderElector, Session } from 'conclave';

const [connect = '', path = '', sessionTimeoutMs = ''] = process.argv.slice(2);
const session = await Session.connect(connect, { sessionTimeoutMs: Number(sessionTimeoutMs) });
const elector = new LeaderElector(session, path);
elector.on('elected', async () => {
  console.log('elected');
  await elector.stop();
  await session.close();
});
await elector.start();

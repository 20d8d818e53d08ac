/** Runs a session and an election on the embedded server. The check bundles this program with each bundler, and runs the result. */
import { ConclaveError, DistributedLock, LeaderElector, Session } from 'conclave';
import { metrics } from 'conclave/metrics';
import { EmbeddedZooKeeper } from 'conclave/testing';

async function main() {
  const server = await EmbeddedZooKeeper.start();
  const session = await Session.connect(server.connectString);
  const token = await new DistributedLock(session, '/lock').using((hold) => hold.token);
  const elector = new LeaderElector(session, '/election', {
    lead: (term) => console.log(`leads: term ${term.number}, a later token: ${term.token > token}`),
  });
  const measured = metrics(elector);
  /** @type {Promise<void>} */
  const demoted = new Promise((resolve) => elector.once('demoted', () => resolve()));
  await elector.start();
  await demoted;
  await elector.stop();
  const text = await measured.text();
  console.log(`measured: ${/^conclave_term\{.*\} (\d+)$/m.exec(text)?.[1]} terms`);
  await session.getData('/nothing').catch((error) => {
    console.log(`${error.code}, a ConclaveError: ${error instanceof ConclaveError}`);
  });
  await session.close();
  await server.stop();
}

main().catch((error) => {
  console.error(error);
  process.exit(1); // The server would keep the process alive.
});

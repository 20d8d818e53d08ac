/**
 * Jobs on a schedule, in a service of several replicas: the leader runs them.
 *
 *     ZOOKEEPER=127.0.0.1:2181 node jobs.mjs
 */
import { ElectionSupervisor } from 'conclave';
import { LeaderRunCoordinator } from 'conclave/node-cron';
import cron from 'node-cron';

const supervisor = new ElectionSupervisor({
  connect: process.env.ZOOKEEPER ?? '127.0.0.1:2181',
  path: process.env.ELECTION ?? '/shop/jobs',
});
supervisor.on('error', (error) => console.error(error.message));

const runCoordinator = new LeaderRunCoordinator(supervisor);
const backup = cron.schedule(
  process.env.SCHEDULE ?? '0 3 * * *',
  async (context) => {
    const { token, signal } = runCoordinator.termOf(context);
    console.log(`backup of ${runCoordinator.scheduledFor(context).toISOString()} with token ${token}`);
    signal.throwIfAborted(); // Between two steps of a long job.
  },
  { name: 'backup', distributed: true, runCoordinator },
);
runCoordinator.catchUp(backup, { missed: 'once' }); // What no replica has run, the next leader runs: the latest one.

supervisor.shutdownOn(['SIGTERM', 'SIGINT'], { cleanup: () => cron.shutdown() });
await supervisor.start();

/**
 * Jobs on a schedule, in a service of several replicas: the leader runs them.
 *
 *     ZOOKEEPER=127.0.0.1:2181 node jobs.mjs
 */
import { ElectionSupervisor } from 'conclave';
import { LeaderJobs } from 'conclave/jobs';
import { Cron } from 'croner';

const supervisor = new ElectionSupervisor({
  connect: process.env.ZOOKEEPER ?? '127.0.0.1:2181',
  path: process.env.ELECTION ?? '/shop/jobs',
});
supervisor.on('error', (error) => console.error(error));

const jobs = new LeaderJobs(supervisor);
const backup = jobs.job('backup', async ({ scheduledFor, token, signal }) => {
  console.log(`backup of ${scheduledFor.toISOString()} with token ${token}`);
  signal.throwIfAborted(); // Between two steps of a long job.
});
const schedule = process.env.SCHEDULE ?? '0 3 * * *';
const cron = new Cron(schedule, { catch: (error) => console.error(error) }, backup); // In each replica.

supervisor.shutdownOn(['SIGTERM', 'SIGINT'], { cleanup: () => cron.stop() });
await supervisor.start();

/**
 * One replica of a service with a job on node-cron's schedule. Of several replicas only the leader runs the job.
 *
 *     npx tsx replica.ts ZOOKEEPER ID
 */
import { ElectionSupervisor } from 'conclave';
import { LeaderJobs } from 'conclave/jobs';
import cron from 'node-cron';

const [connect = '127.0.0.1:2181', id = `replica-${process.pid}`] = process.argv.slice(2);

const supervisor = new ElectionSupervisor({
  connect,
  path: process.env.ELECTION ?? '/examples/cron-jobs',
  id,
});
supervisor.on('error', (error) => console.error(id, error));

const jobs = new LeaderJobs(supervisor);
const job = jobs.job(
  'every-second',
  ({ scheduledFor, term, token }) => {
    console.log(`${id}: ${scheduledFor.toISOString()}, term ${term.number}, token ${token}`);
    process.send?.(scheduledFor.toISOString()); // For main.ts, which counts.
  },
  { missed: 'all', lateMs: 60_000 }, // The next leader runs the seconds of a failover.
);
cron.schedule('* * * * * *', job);

supervisor.shutdownOn(['SIGTERM', 'SIGINT'], { cleanup: () => cron.shutdown() });
supervisor.once('waiting', () => process.send?.('waiting')); // Also for main.ts.
process.once('disconnect', () => process.exit(1)); // main.ts has ended.
await supervisor.start();

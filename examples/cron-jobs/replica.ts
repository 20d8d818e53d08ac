/**
 * One replica of a service with a job on node-cron's schedule. Of several replicas only the leader runs the job.
 *
 *     npx tsx replica.ts ZOOKEEPER ID
 */
import { ElectionSupervisor } from 'conclave';
import { LeaderRunCoordinator } from 'conclave/node-cron';
import cron from 'node-cron';

const [connect = '127.0.0.1:2181', id = `replica-${process.pid}`] = process.argv.slice(2);

const supervisor = new ElectionSupervisor({
  connect,
  path: process.env.ELECTION ?? '/examples/cron-jobs',
  id,
});
supervisor.on('error', (error) => console.error(`${id}: ${error.message}`));

const coordinator = new LeaderRunCoordinator(supervisor);
cron.setRunCoordinator(coordinator);

const task = cron.schedule(
  '* * * * * *',
  async (context) => {
    const term = coordinator.termOf(context); // Its token is for what the job writes to; its signal ends the job.
    const firing = coordinator.scheduledFor(context); // Earlier than now, if it was missed.
    console.log(`${id}: ${firing.toISOString()}, term ${term.number}, token ${term.token}`);
    process.send?.(firing.toISOString()); // For main.ts, which counts.
  },
  { name: 'every-second', distributed: true },
);
// The seconds of a failover are run by the next leader.
coordinator.catchUp(task, { missed: 'all', missedWindowMs: 60_000 });

supervisor.shutdownOn(['SIGTERM', 'SIGINT'], { cleanup: () => cron.shutdown() });
process.once('disconnect', () => process.exit(1)); // main.ts has ended.
await supervisor.start();

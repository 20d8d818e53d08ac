import { ElectionSupervisor } from 'conclave';
import { LeaderJobs } from 'conclave/jobs';
import { gracefulShutdown, scheduleJob } from 'node-schedule';

const supervisor = new ElectionSupervisor({
  connect: process.env.ZOOKEEPER ?? '127.0.0.1:2181',
  path: process.env.ELECTION ?? '/shop/jobs',
});
supervisor.on('error', (error) => console.error(error));

const jobs = new LeaderJobs(supervisor);
const backup = jobs.job('backup', async ({ scheduledFor, token }) => {
  console.log(`backup of ${scheduledFor.toISOString()} with token ${token}`);
});
const scheduled = scheduleJob(process.env.SCHEDULE ?? '0 3 * * *', backup); // In each replica.
scheduled.on('error', (error) => console.error(error)); // Without a listener, a job's error ends the process.

supervisor.shutdownOn(['SIGTERM', 'SIGINT'], { cleanup: () => gracefulShutdown() });
await supervisor.start();

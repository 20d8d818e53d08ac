import { ElectionSupervisor } from 'conclave';
import { LeaderJobs } from 'conclave/jobs';
import { CronJob } from 'cron';

const supervisor = new ElectionSupervisor({
  connect: process.env.ZOOKEEPER ?? '127.0.0.1:2181',
  path: process.env.ELECTION ?? '/shop/jobs',
});
supervisor.on('error', (error) => console.error(error));

const jobs = new LeaderJobs(supervisor);
const backup = jobs.job('backup', async ({ scheduledFor, token }) => {
  console.log(`backup of ${scheduledFor.toISOString()} with token ${token}`);
});
const cron = CronJob.from({
  cronTime: process.env.SCHEDULE ?? '0 3 * * *',
  onTick: backup,
  errorHandler: (error) => console.error(error),
  start: true, // In each replica.
});

supervisor.shutdownOn(['SIGTERM', 'SIGINT'], { cleanup: () => cron.stop() });
await supervisor.start();

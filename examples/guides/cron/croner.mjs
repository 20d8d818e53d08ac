// Before the first start: CREATE TABLE reports (hour timestamptz), and the table of `fence.schema`.
import { ElectionSupervisor } from 'conclave';
import { PostgresFence } from 'conclave/fence';
import { LeaderJobs } from 'conclave/jobs';
import { Cron } from 'croner';
import pg from 'pg';

const supervisor = new ElectionSupervisor({
  connect: process.env.ZOOKEEPER ?? '127.0.0.1:2181',
  path: process.env.ELECTION ?? '/shop/reports',
});
supervisor.on('error', (error) => console.error(error));
const logError = (/** @type {unknown} */ error) => console.error(error);

const connectionString = process.env.POSTGRES;
const pool = new pg.Pool({ connectionString, idle_in_transaction_session_timeout: 10_000 });
pool.on('error', logError);
const fence = new PostgresFence(pool, 'reports');

const cron = new Cron(process.env.SCHEDULE ?? '0 * * * *', { catch: logError });
const jobs = new LeaderJobs(supervisor);
const report = jobs.job(
  'report',
  async ({ scheduledFor: hour }) => {
    await fence.transaction(pool, (client) => client.query('INSERT INTO reports VALUES ($1)', [hour]));
  },
  { missed: 'all', next: (after) => cron.nextRun(after) },
);
cron.schedule(report); // In each replica.

supervisor.shutdownOn(['SIGTERM', 'SIGINT'], {
  cleanup: async () => {
    cron.stop();
    await pool.end();
  },
});
await supervisor.start();

/** Runs jobs on node-cron's schedule. The types of conclave/jobs must fit the types of node-cron. */
import { ElectionSupervisor } from 'conclave';
import { type JobOptions, type JobRun, LeaderJobs } from 'conclave/jobs';
import { schedule, type TaskContext } from 'node-cron';

const supervisor = new ElectionSupervisor({ connect: '127.0.0.1:2181', path: '/elections/jobs' });
const options: JobOptions = { missed: 'all', scheduledFor: ({ date }: TaskContext) => date };
const run = async ({ scheduledFor, term, token, signal }: JobRun) => {
  signal.throwIfAborted();
  await term.transaction().setData('/backup', `${scheduledFor} ${token}`).commit();
};
const backup = new LeaderJobs(supervisor).job('backup', run, options);
schedule('0 3 * * *', backup);
setInterval(backup, 60_000);

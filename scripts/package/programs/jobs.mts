/** Runs jobs on node-cron's schedule. The types of conclave/node-cron must fit the types of node-cron. */
import { ElectionSupervisor } from 'conclave';
import { LeaderRunCoordinator } from 'conclave/node-cron';
import { type RunCoordinator, schedule, setRunCoordinator } from 'node-cron';

const supervisor = new ElectionSupervisor({ connect: '127.0.0.1:2181', path: '/elections/jobs' });
export const coordinator = new LeaderRunCoordinator(supervisor);
export const runCoordinator: RunCoordinator = coordinator;
setRunCoordinator(coordinator);
schedule('0 3 * * *', (context) => console.log(coordinator.termOf(context)?.token), {
  name: 'backup',
  distributed: true,
  runCoordinator: coordinator,
});

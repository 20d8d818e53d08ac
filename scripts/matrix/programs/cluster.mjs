/** Two replicas in child processes. Kills the one that leads, and says when the other one leads. Arguments: those of each replica. */
import { fork } from 'node:child_process';
import { superviseCluster } from 'conclave';

const words = process.argv.slice(2);
const replica = new URL('./replica.mjs', import.meta.url);
const cluster = superviseCluster({
  connect: words[0] ?? '',
  workers: 2,
  fork: () => fork(replica, words),
});
cluster.on('error', (error) => console.error(error));

/** @returns {Promise<number>} the process id of the worker that leads, once there are two in the election and `other` isn't it */
const leader = (other = 0) =>
  new Promise((resolve) => {
    cluster.on('roleChanged', () => {
      const [leading] = cluster.workers.filter(({ role, pid }) => role === 'leading' && pid !== other);
      if (leading?.pid !== undefined && cluster.workers.every(({ role }) => role !== 'none'))
        resolve(leading.pid);
    });
  });

const first = await leader();
const followed = leader(first);
process.kill(first, 'SIGKILL');
await followed;
console.log('was followed');
await cluster.stop();
console.log('has stopped');
process.exit(0);

import { Queue } from 'bullmq';
import { ElectionSupervisor } from 'conclave';
import { relay } from './relay.mjs';

/**
 * Runs in every replica; the leader relays.
 *
 * @param {{ connect: string, path: string, redis: import('bullmq').ConnectionOptions, outbox: import('./relay.mjs').Outbox }} options
 */
export async function startRelay({ connect, path, redis, outbox }) {
  const queue = new Queue('orders', { connection: redis });
  const supervisor = new ElectionSupervisor({ connect, path, lead: (term) => relay(term, queue, outbox) });
  supervisor.on('error', (error) => console.error(error));
  await supervisor.start();
  return {
    supervisor,
    async stop() {
      await supervisor.stop(); // First: the relay uses the queue until its work has settled.
      await queue.close();
    },
  };
}

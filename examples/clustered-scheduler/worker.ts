/**
 * One worker of the service. All workers share its work; the scheduler is active in one of them.
 *
 * main.ts starts it, with two arguments: ZOOKEEPER PERIOD_MS
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor } from 'conclave';

const [connect = '', periodMs = '50'] = process.argv.slice(2);

const supervisor = new ElectionSupervisor({
  connect,
  path: '/examples/clustered-scheduler',
  session: { sessionTimeoutMs: 10_000 },
  lead: async (term) => {
    while (term.isHeld()) {
      // Here the job runs. What it writes to should check `term.token`. All processes share the machine's clock.
      const atMs = Number(process.hrtime.bigint() / 1000n) / 1000;
      process.send?.({ ran: { pid: process.pid, term: term.number, atMs } });
      await sleep(Number(periodMs), undefined, { signal: term.signal });
    }
  },
});
supervisor.on('error', (error) => console.error(error));
supervisor.shutdownOn(['SIGTERM']);
process.on('SIGINT', () => undefined); // Ctrl-C goes to all processes; the primary stops the workers, in order.
await supervisor.start();

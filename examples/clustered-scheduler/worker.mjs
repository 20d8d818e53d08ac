/** One worker of the service. All do their share of its work; the scheduler is active in one of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor } from 'conclave';

const [connect = '', periodMs = '50'] = process.argv.slice(2);

const supervisor = new ElectionSupervisor({
  connect,
  path: '/examples/clustered-scheduler',
  session: { sessionTimeoutMs: 10_000 },
  lead: async (term) => {
    while (term.isHeld()) {
      // Here the job runs: `term.token` is for what it writes to. The time is the machine's, the same for all processes.
      const atMs = Number(process.hrtime.bigint() / 1000n) / 1000;
      process.send?.({ ran: { pid: process.pid, term: term.number, atMs } });
      await sleep(Number(periodMs), undefined, { signal: term.signal });
    }
  },
});
supervisor.on('error', (error) => console.error(error));
supervisor.shutdownOn(['SIGTERM']);
process.on('SIGINT', () => undefined); // Ctrl-C goes to all at once; it is the primary that ends them, in order.
await supervisor.start();

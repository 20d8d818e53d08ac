/** Runs a replica with Conclave's defaults, which reports when it leads: `replica.mjs CONNECT ID`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor } from 'conclave';

const [connect = '', id = ''] = process.argv.slice(2);

/** @param {object} message */
const report = (message) => process.send?.({ id, ...message });

const supervisor = new ElectionSupervisor({
  connect,
  path: '/pictures/failover',
  id,
  lead: async (term) => {
    while (term.isHeld()) {
      // This clock is the same in all processes of a machine.
      report({
        event: 'leads',
        atMs: Number(process.hrtime.bigint()) / 1e6,
        remainingMs: term.remainingMs(),
      });
      await sleep(10, undefined, { signal: term.signal });
    }
  },
});
supervisor.on('waiting', () => report({ event: 'waits' }));
supervisor.on('error', (error) => report({ event: 'fails', message: error.message }));
supervisor.shutdownOn(['SIGTERM']);
await supervisor.start();

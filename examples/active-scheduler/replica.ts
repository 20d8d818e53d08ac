/**
 * One replica of a service with a scheduler. Of several replicas only the leader runs the job, once in each period.
 *
 *     npx tsx replica.ts ZOOKEEPER ID
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor, type Term } from 'conclave';

const [connect = '127.0.0.1:2181', id = `replica-${process.pid}`] = process.argv.slice(2);
const periodMs = Number(process.env.PERIOD_MS ?? 1000);

async function runSchedule(term: Term) {
  for (let tick = 0; term.isHeld(); tick++) {
    // Here the job runs. What it writes to should check `term.token`.
    console.log(`${id}: tick ${tick}, term ${term.number}, token ${term.token}`);
    process.send?.({ id, term: term.number }); // For main.ts.
    await sleep(periodMs, undefined, { signal: term.signal });
  }
}

const supervisor = new ElectionSupervisor({
  connect,
  path: process.env.ELECTION ?? '/examples/active-scheduler',
  id,
  lead: runSchedule,
});
supervisor.on('waiting', () => console.log(`${id} waits for its turn`));
supervisor.on('error', (error) => console.error(id, error));
supervisor.shutdownOn(['SIGTERM', 'SIGINT']);
process.once('disconnect', () => process.exit(1)); // main.ts has ended.
await supervisor.start();
process.send?.('joined');

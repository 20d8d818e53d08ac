/**
 * A service of several processes on this host: all share its work, and one of them leads.
 *
 *     ZOOKEEPER=127.0.0.1:2181 node main.mjs
 */
import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor, superviseCluster } from 'conclave';

const connect = process.env.ZOOKEEPER ?? '127.0.0.1:2181';

function runPrimary() {
  const workers = superviseCluster({ connect, workers: 3, stopTimeoutMs: 25_000 });
  workers.on('error', (error) => console.error(error));
  workers.on('roleChanged', ({ pid, role }) => console.log(`process ${pid}: ${role}`));
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void workers.stop()); // The leader last.
  process.on('SIGHUP', () => {
    workers.replaceWorkers().catch((error) => console.error(error)); // A new version, with one handover.
  });
}

async function runWorker() {
  const supervisor = new ElectionSupervisor({
    connect,
    path: process.env.ELECTION ?? '/shop/scheduler',
    lead: async (term) => {
      console.log(`process ${process.pid} leads term ${term.number}`);
      while (term.isHeld()) await sleep(1000, undefined, { signal: term.signal });
    },
  });
  supervisor.on('error', (error) => console.error(error));
  supervisor.shutdownOn(['SIGTERM'], { deadlineMs: 20_000 });
  process.on('SIGINT', () => undefined); // Ctrl+C reaches all processes at once: the primary ends them in order.
  await supervisor.start();
}

await (cluster.isPrimary ? runPrimary() : runWorker());

/** Uses what meets the packages of an application, old ones or new ones, and prints what comes of it. */
import 'reflect-metadata';
import { LeaderElector, Session } from 'conclave';
import { LeaderJobs } from 'conclave/jobs';
import { metrics } from 'conclave/metrics';
import { ConclaveModule } from 'conclave/nestjs';
import { EmbeddedZooKeeper } from 'conclave/testing';
import cron from 'node-cron';
import prom from 'prom-client';

const server = await EmbeddedZooKeeper.start();
const session = await Session.connect(server.connectString);
const elector = new LeaderElector(session, '/election');
await elector.start();

const { scheduledFor } = await new Promise(
  (/** @type {(run: import('conclave/jobs').JobRun) => void} */ resolve) => {
    const job = new LeaderJobs(elector).job('job', resolve);
    cron.schedule('* * * * * *', () => job());
  },
);
console.log(`node-cron: runs, for a whole second: ${scheduledFor.getTime() % 1000 === 0}`);

console.log(`nest: ${ConclaveModule.forRoot({ connect: server.connectString, path: '/nest' }).module.name}`);

const registry = new prom.Registry();
try {
  metrics(elector).register(registry);
  console.log(`prom-client: ${/^conclave_leader\b/m.exec(await registry.metrics())}`);
} catch (error) {
  console.log(`prom-client: ${/** @type {Error} */ (error).message}`);
}
process.exit(); // The schedule would go on.

/**
 * One worker of a service that runs a job every 50 ms, in one worker at a time, and can be restarted at any moment.
 *
 *     npx tsx worker.ts ZOOKEEPER ID
 *
 * `/ready` and `/live` report its health to the process that restarts it. A worker that was forked reports events to its
 * parent.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor, type Term } from 'conclave';

const [connect = '127.0.0.1:2181', id = `worker-${process.pid}`] = process.argv.slice(2);
const PATH = process.env.ELECTION ?? '/examples/rolling-restart';
const PERIOD_MS = 50;
/** The number of the next job, which a leader leaves to its successor. */
const CURSOR = `${PATH}/next-job`;

/** Resolves when the parent has the message, because this process may end soon after. */
function report(event: string, details: object = {}) {
  return new Promise<unknown>((resolve) => {
    if (process.send === undefined) resolve(console.log(id, event, details));
    else process.send({ event, id, at: performance.timeOrigin + performance.now(), ...details }, resolve);
  });
}

/** The leader's work: one job after the other, from where the former leader stopped. */
async function runJobs(term: Term) {
  const session = await supervisor.session(term.signal);
  await session.ensurePath(CURSOR);
  const { data, stat } = await session.getData(CURSOR);
  let version = stat.version;
  let job = data.length === 0 ? Math.floor(Date.now() / PERIOD_MS) : Number(data);
  for (;;) {
    const waitMs = job * PERIOD_MS - Date.now();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal: term.signal }); // Rejects when the term ends.
    term.assertHeld();
    await report('job', { job, lateMs: Date.now() - job * PERIOD_MS, term: term.number });
    // The next number is written when the job is done, and only while this term lasts. A job that has begun is finished, also
    // if the term has ended meanwhile: no other worker leads before this work has settled. After a crash between the job and
    // the write the job would run again: a job that writes to ZooKeeper writes in the same transaction, others check `term.token`.
    await term.transaction().setData(CURSOR, String(++job), version++).commit();
  }
}

const supervisor = new ElectionSupervisor({ connect, path: PATH, id, lead: runJobs });
supervisor.on('elected', (term) => void report('elected', { term: term.number }));
supervisor.on('demoted', (term, reason) => void report('demoted', { term: term.number, reason }));
supervisor.on('error', (error) => console.error(id, error));

const server = createServer(({ url }, response) => {
  const health = supervisor.health();
  const isWell = url === '/live' ? health.live : health.ready;
  response.writeHead(isWell ? 200 : 503, { 'content-type': 'application/json' }).end(JSON.stringify(health));
});

// At the first signal: finish the job, close the server, release the term, close the session.
supervisor.shutdownOn(['SIGTERM', 'SIGINT'], { cleanup: () => void server.close() });
process.on('disconnect', () => process.exit(1)); // The parent is gone.

server.listen(Number(process.env.PORT ?? 0), '127.0.0.1');
await once(server, 'listening');
await report('listening', { port: (server.address() as AddressInfo).port });
await supervisor.start();

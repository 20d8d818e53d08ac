/**
 * One replica of a consumer. The feed must be read in order, so only the leader reads. After its death the next leader
 * continues where it stopped: the log, which has the results, has the position too.
 *
 *     node examples/singleton-consumer/consumer.mjs ZOOKEEPER ID FEED LOG_URL
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor } from 'conclave';
import { LogClient } from '../support/fenced-sink.mjs';

const [connect = '', id = '', feed = '', logUrl = ''] = process.argv.slice(2);

/** @param {import('conclave').Term} term */
async function consume(term) {
  const log = new LogClient(logUrl, term, id);
  let next = await log.begin();
  console.log(`${id} consumes from record ${next} on (term ${term.number}, token ${term.token})`);
  while (term.isHeld()) {
    const records = (await readFile(feed, 'utf8')).split('\n').slice(0, -1);
    for (const record of records.slice(next)) {
      await log.write(next++, record.toUpperCase());
      await sleep(2, undefined, { signal: term.signal }); // The work for a record.
    }
    await sleep(20, undefined, { signal: term.signal });
  }
}

const supervisor = new ElectionSupervisor({
  connect,
  path: '/examples/singleton-consumer',
  id,
  session: { sessionTimeoutMs: 1500 },
  lead: consume,
});
supervisor.on('error', (error) => console.error(`${id}: ${error.message}`));
const leave = async () => {
  await supervisor.stop();
  if (process.connected) process.disconnect();
};
process.once('SIGTERM', leave).once('disconnect', leave);
await supervisor.start();
process.send?.('joined');

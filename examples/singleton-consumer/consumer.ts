/**
 * One replica of a consumer. The feed must be read in order, so only the leader reads. When it dies, the next leader continues
 * where it stopped: the log has the results, and so the position.
 *
 *     npx tsx consumer.ts ZOOKEEPER ID FEED LOG_URL
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ElectionSupervisor, type Term } from 'conclave';
import { post } from './log.js';

const [connect = '', id = '', feed = '', logUrl = ''] = process.argv.slice(2);

async function consume(term: Term) {
  let { next } = await post(logUrl, term);
  console.log(`${id} consumes from record ${next} on (term ${term.number}, token ${term.token})`);
  while (term.isHeld()) {
    const records = (await readFile(feed, 'utf8')).split('\n').slice(0, -1);
    for (const record of records.slice(next)) {
      await post(logUrl, term, { number: next++, by: id, value: record.toUpperCase() });
      await sleep(2, undefined, { signal: term.signal }); // The work for a record.
    }
    await sleep(20, undefined, { signal: term.signal });
  }
}

const supervisor = new ElectionSupervisor({
  connect,
  path: '/examples/singleton-consumer',
  id,
  lead: consume,
});
supervisor.on('error', (error) => console.error(id, error));
supervisor.shutdownOn(['SIGTERM', 'SIGINT']);
process.once('disconnect', () => process.exit(1)); // main.ts has ended.
await supervisor.start();
process.send?.('joined');

/**
 * Measures the time of a handover, and its cost for the servers, with three strategies:
 * `npm run build && node bench/studies/strategies.mjs [--contenders 2,15,100] [--rounds 200]`. `bench/strategies/README.md`
 * describes the strategies and shows results.
 *
 * The contenders of all strategies wait at the same time, each with a session of its own, and the strategies take turns, one
 * handover each. The server counts requests and notifications.
 */
import { parseArgs } from 'node:util';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { fourLetterWord } from '../../tools/zookeeper/four-letter-word.mjs';
import { Meter } from '../harness/meter.mjs';
import { quantile } from '../harness/quantiles.mjs';
import { compare, mean, SESSION_MS } from '../strategies/contest.mjs';

const { values } = parseArgs({
  options: {
    contenders: { type: 'string', default: '2,15,100' },
    rounds: { type: 'string', default: '200' },
  },
});
const CROWDS = values.contenders.split(',').map(Number);
const ROUNDS = Number(values.rounds);
if (![...CROWDS, ROUNDS].every((count) => Number.isInteger(count) && count > 0) || CROWDS.includes(1)) {
  throw new Error('expected --contenders 2,15,100 (each 2 or more) and --rounds 200 (1 or more)');
}

/** @param {import('../harness/meter.mjs').Traffic[]} traffic */
function each(traffic) {
  const { requests, notifications } = mean(traffic);
  return `${requests.toFixed(1)} / ${notifications.toFixed(1)}`;
}

const { servers, connectString, stop } = await startZooKeeper({
  settings: { maxSessionTimeout: SESSION_MS },
});
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => void stop().finally(() => process.exit(1)));
}
try {
  const [server] = servers;
  if (server === undefined) throw new Error('there is no server');
  console.log(`${(await fourLetterWord(server.port, 'srvr')).split('\n')[0]}, ${ROUNDS} handovers each\n`);
  console.log(
    '| contenders | strategy | handover p50 / p99 µs | its requests / notifications | those of a join |',
  );
  console.log('|---|---|---|---|---|');
  const meter = new Meter([server.port]);
  for (const contenders of CROWDS) {
    for (const costs of await compare({ connect: connectString, meter, contenders, rounds: ROUNDS })) {
      const times = [0.5, 0.99].map((share) => quantile(costs.timesUs, share).toFixed(0)).join(' / ');
      console.log(
        `| ${contenders} | ${costs.name} | ${times} | ${each(costs.handovers)} | ${each(costs.joins)} |`,
      );
    }
  }
} finally {
  await stop();
}

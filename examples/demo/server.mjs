/** The demo's server: the embedded one, unless `--real` or `ZOOKEEPER` asks for a real one. */
import { parseArgs } from 'node:util';
import { EmbeddedZooKeeper } from 'conclave/testing';
import { externalEnsemble, startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';

// The same for both kinds of server, so that failover takes the same time.
const TICK_MS = 200;

/**
 * @param {(text: string) => void} say
 * @returns {Promise<{ connectString: string, stop(): Promise<void> }>}
 */
export async function openServer(say) {
  const { values } = parseArgs({
    options: { real: { type: 'boolean', default: false }, shards: { type: 'boolean' } },
  });
  const connectString = externalEnsemble();
  if (connectString !== undefined) {
    say(`ZOOKEEPER names the servers at ${connectString}`);
    return { connectString, stop: async () => undefined };
  }
  if (!values.real) return openEmbedded(say);
  say('Starting a real ZooKeeper server, which is installed if it has to be …');
  const real = await startZooKeeper({ tickMs: TICK_MS });
  say(`ZooKeeper serves at ${real.connectString}`);
  return real;
}

/** @param {(text: string) => void} say */
async function openEmbedded(say) {
  const ignore = () => undefined;
  /** @type {import('conclave').Logger} */
  const logger = {
    debug: ignore,
    info: ignore,
    warn: (_details, message) => say(message),
    error: (_details, message) => say(message),
  };
  return await EmbeddedZooKeeper.start({ tickMs: TICK_MS, logger });
}

import { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from '../../../src/testing/index.js';
import { SILENT } from '../silent-logger.mjs';
import { endsWithTest } from '../vitest/test-end.js';

/** A server of the test's own. It ends with the test. */
export async function startEmbedded(options: EmbeddedZooKeeperOptions = {}): Promise<EmbeddedZooKeeper> {
  return endsWithTest(await EmbeddedZooKeeper.start({ logger: SILENT, ...options }));
}

import type { TestProject } from 'vitest/node';
import { findChromium } from '../../../tools/chromium/program.mjs';
import { findFaketime } from '../../../tools/faketime/library.mjs';
import { findCurator, findKazoo } from '../../../tools/peers/installed.mjs';
import { externalDatabase, findPostgres } from '../../../tools/postgres/server.mjs';
import { externalRedis, findRedis } from '../../../tools/redis/server.mjs';
import { findSpin } from '../../../tools/spin/search.mjs';
import { prefersEmbedded } from '../../../tools/zookeeper/embedded.mjs';
import { useZooKeeper } from '../../../tools/zookeeper/ensemble.mjs';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The servers that all tests share, each on paths of its own. */
    connectString: string;
    /** The client port of the shared server, if it is one of ours: for four-letter words and proxies. */
    port: number | undefined;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const zookeeper = await useZooKeeper();
  project.provide('connectString', zookeeper.connectString);
  project.provide('port', Number(/:(\d+)/.exec(zookeeper.connectString)?.[1] ?? 2181));
  if (!prefersEmbedded()) {
    if (externalDatabase() === undefined) await install(findPostgres);
    if (externalRedis() === undefined) await install(findRedis);
    await install(findCurator);
    await install(findKazoo);
    await install(findSpin);
    await install(findFaketime);
    await install(findChromium);
  }
  return zookeeper.stop;
}

/**
 * Installs it if it is missing, here where no test's time runs. Tests that need it start it themselves. If it can't be
 * installed, only those tests fail, with the same advice.
 */
async function install(find: () => unknown): Promise<void> {
  try {
    await find();
  } catch (error) {
    console.error((error as Error).message);
  }
}

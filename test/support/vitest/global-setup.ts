import type { TestProject } from 'vitest/node';
import { findChromium } from '../../../tools/chromium/program.mjs';
import { findFaketime } from '../../../tools/faketime/library.mjs';
import { findIptables } from '../../../tools/iptables/program.mjs';
import { findCurator, findGo, findKazooTests } from '../../../tools/peers/installed.mjs';
import { externalDatabase, findPostgres } from '../../../tools/postgres/server.mjs';
import { externalRedis, findRedis } from '../../../tools/redis/server.mjs';
import { findSpin } from '../../../tools/spin/search.mjs';
import { findZ3 } from '../../../tools/z3/solve.mjs';
import { useZooKeeper } from '../../../tools/zookeeper/ensemble.mjs';
import type { Group } from './groups.mjs';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The servers that the tests of a group share, each on paths of its own. */
    connectString: string;
    /** The client port of the shared server, if it is one of ours: for four-letter words and proxies. */
    port: number | undefined;
  }
}

/** The programs that the tests of a group need, besides Node and ZooKeeper. */
const PROGRAMS: Partial<Record<Group, readonly (() => unknown)[]>> = {
  databases: [() => externalDatabase() ?? findPostgres(), () => externalRedis() ?? findRedis()],
  foreign: [findCurator, findGo, findKazooTests, findFaketime],
  chaos: [findFaketime],
  nemesis: [findFaketime, findIptables],
  searches: [findSpin, findZ3],
  browser: [findChromium],
  tools: [findChromium],
};
const WITHOUT_SERVER: readonly string[] = ['model', 'searches', 'simulation', 'mutants'] satisfies Group[];

/** Vitest calls it once for each project of which it runs a file. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  for (const find of PROGRAMS[project.name as Group] ?? []) await install(find);
  if (WITHOUT_SERVER.includes(project.name)) return undefined;
  const asked = project.config.env?.CONCLAVE_TEST_SERVER ?? process.env.CONCLAVE_TEST_SERVER;
  const embedded = asked === 'embedded';
  // All groups with a real server share one.
  const place = embedded ? project : project.vitest.getRootProject();
  if (!embedded && place.getProvidedContext().connectString !== undefined) return undefined;
  const zookeeper = await useZooKeeper({ embedded });
  place.provide('connectString', zookeeper.connectString);
  place.provide('port', Number(/:(\d+)/.exec(zookeeper.connectString)?.[1] ?? 2181));
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

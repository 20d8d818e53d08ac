import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { findCurator } from '../../tools/peers/installed.mjs';
import { connectString } from '../support/conclave/sessions.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

/** The programs, each with the recipes or requests that it tries. It prints a line for each of them. */
const PROGRAMS: readonly { client: string; command: () => string[]; file: string; tries: string[] }[] = [
  {
    client: 'each of the recipes of Curator',
    command: findCurator,
    file: 'CuratorRecipes.java',
    tries: [
      'InterProcessMutex',
      'InterProcessMutex_whose_holder_goes',
      'InterProcessReadWriteLock',
      'InterProcessSemaphoreV2',
      'InterProcessSemaphoreMutex',
      'LeaderLatch',
      'LeaderSelector',
      'DistributedAtomicLong',
      'SharedCount',
      'DistributedBarrier',
      'DistributedDoubleBarrier',
      'PersistentNode',
      'transaction',
    ],
  },
  {
    client: 'each kind of request of the Java client',
    command: findCurator, // Curator comes with the Java client.
    file: 'ZooKeeperRequests.java',
    tries: [
      'create',
      'data',
      'children',
      'watches',
      'multi',
      'multi_read',
      'sync',
      'config',
      'access_lists',
      'sessions',
    ],
  },
];

const SERVERS: readonly { server: string; connect: () => Promise<string> }[] = [
  {
    server: 'the embedded server',
    connect: async () => {
      const embedded = await EmbeddedZooKeeper.start({
        tickMs: 200,
        maxSessionTimeoutMs: 60_000,
        logger: SILENT,
      });
      onTestFinished(async () => {
        // All clients have ended, and must have left no connection and no watch.
        await until(() => embedded.connectionCount === 0, 'the end of all connections');
        expect(embedded.watchCount()).toBe(0);
        await embedded.stop();
      });
      return embedded.connectString;
    },
  },
  // A real server too, which shows that the programs expect nothing that ZooKeeper doesn't do.
  { server: 'the server of all tests', connect: async () => connectString() },
];

describe.each(SERVERS.map((each) => [each.server, each] as const))('on %s', (_server, { connect }) => {
  const programs = PROGRAMS.map((each) => [each.client, each] as const);
  it.each(programs)('%s does what it does', async (_client, { command, file, tries }) => {
    const [program = '', ...args] = command();
    const run = await execa(
      program,
      [
        ...args,
        join(import.meta.dirname, 'foreign-clients', file),
        await connect(),
        `/foreign-${randomUUID()}`,
      ],
      { reject: false, timeout: 58_000 },
    );
    expect(run.stdout.split('\n'), run.stderr).toEqual(tries.map((name) => `passed ${name}`));
    expect(run.exitCode).toBe(0);
  });
});

import { EmbeddedZooKeeper } from 'conclave/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SILENT } from '../../test/support/silent-logger.mjs';
import { Host, RUNTIME_CHECKS, SESSION_TIMEOUT_MS } from './runtime-checks.mjs';

async function check(index: number, command: readonly string[]): Promise<void> {
  const server = await EmbeddedZooKeeper.start({
    maxSessionTimeoutMs: SESSION_TIMEOUT_MS,
    logger: SILENT,
  });
  const host = new Host(command, server.connectString);
  onTestFinished(async () => {
    await host.close();
    await server.stop();
  });
  await RUNTIME_CHECKS[index]?.check(host);
}

const CHECKS = RUNTIME_CHECKS.map(({ name }, index) => [name, index] as const);

describe('the checks of other runtimes', () => {
  it.each(CHECKS)('hold on Node.js: %s', async (_, index) => {
    await check(index, [process.execPath]);
  });

  it.each(CHECKS)('notice a runtime that runs no program: %s', async (_, index) => {
    await expect(check(index, ['true'])).rejects.toThrow(/printed|ended with/);
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { KeeperHandle } from '../../../../src/cluster/run-command/keeper-handle.js';
import { systemEnvironment } from '../../../../src/platform/injected-environment.js';
import { machineInstantIn } from '../../../../src/platform/time/machine-instant.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';

/** A keeper that is killed in place of starting a command. */
const KILLED_AT_THE_START = `
  process.on('message', (message) => message.do === 'start' && process.kill(process.pid, 'SIGKILL'));
  process.send({ is: 'ready' });
`;

/** The handle of a keeper with another program. */
function handleOf(program: string): KeeperHandle {
  const folder = temporaryFolder();
  const { execPath } = process;
  writeFileSync(join(folder, 'keeper.cjs'), program);
  const node = join(folder, 'node');
  writeFileSync(node, `#!/bin/sh\nexec '${execPath}' '${join(folder, 'keeper.cjs')}'\n`, { mode: 0o755 });
  process.execPath = node;
  try {
    return new KeeperHandle(systemEnvironment, process.env, () => undefined);
  } finally {
    process.execPath = execPath;
  }
}

it('a command has ended by SIGKILL when its keeper was killed before it reported the start, as it may have run', async () => {
  const keeper = handleOf(KILLED_AT_THE_START);
  await keeper.whenReady();
  const lease = { leaseEnd: machineInstantIn(() => 10_000), leaseMs: 10_000, graceMs: 1000 };
  keeper.start({ command: 'true', args: [], env: {} }, lease);
  expect(await keeper.outcome).toEqual({ kind: 'ended', code: null, signal: 'SIGKILL' });
});

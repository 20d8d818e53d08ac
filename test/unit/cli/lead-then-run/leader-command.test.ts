import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CommandWork } from '../../../../src/cli/lead-then-run/leader-command.js';
import type { Term } from '../../../../src/election/term/term.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';

/** The work of a runner whose keeper is never ready. */
function workWithSlowKeeper(): CommandWork {
  const folder = temporaryFolder();
  const { execPath } = process;
  const node = join(folder, 'node');
  const program = 'process.once("disconnect", () => process.exit());';
  writeFileSync(node, `#!/bin/sh\nexec '${execPath}' -e '${program}'\n`, { mode: 0o755 });
  process.execPath = node;
  try {
    const target = { connect: 'zk1', session: { connectTimeoutMs: 1000 }, tlsFiles: undefined } as never;
    const line = { command: 'true', args: [], election: '/report', graceMs: 1000 };
    return new CommandWork({ ...line, restart: false, target });
  } finally {
    process.execPath = execPath;
  }
}

it('a SIGHUP that comes while the keeper of the command still starts is not lost: no command starts', async () => {
  const { open } = await startWithTestClock();
  const session = await open();
  const work = workWithSlowKeeper();
  const { signal } = new AbortController();
  const term = { isHeld: () => true, remainingMs: () => 5000, signal, number: 1, token: 1n };
  const leading = work.lead({ term: term as unknown as Term, session, id: 'runner' });
  expect(work.onSignal('SIGUSR1')).toBe(true); // This one is for the command alone.
  expect(work.onSignal('SIGHUP')).toBe(true);
  expect(await leading).toBe(129);
});

import type { Command } from 'commander';
import { checked } from '../options/arguments.js';
import { type ConnectionOptions, DURATIONS, withConnection, withSession } from '../options/connection.js';
import { checkRoot } from '../options/root.js';
import { printable } from '../process/output.js';

interface ListOptions extends ConnectionOptions {
  readonly root: string;
  readonly json?: boolean;
}

const DESCRIPTION = `Prints the paths of the elections, locks, semaphores and groups of shards at a path and below it, one per line, \
with what each is: election, lock, read-write, semaphore or group. It reads only.

An election in which no candidate ever was, and a lock without contenders, look like any empty node: they are not listed.`;

const MORE_HELP = `
${DURATIONS}

With --json it is an array of objects: path, kind.

Exits with 0, also if there is nothing, 64 if the command line is wrong, 69 if no
server could be reached, 77 if the servers refuse.

Example:
  conclave list --root /elections -c zk1:2181`;

/** `conclave list`: what there is below a path. */
export function addList(program: Command): void {
  const command = program
    .command('list')
    .summary('print which elections, locks and groups there are')
    .description(DESCRIPTION);
  withConnection(command)
    .option('--root <path>', 'this path and below it', checked(checkRoot), '/')
    .option('--json', 'print it as JSON')
    .addHelpText('after', MORE_HELP)
    .action(async (options: ListOptions) => {
      const { readOverview } = await import('../status/read-overview.js');
      const found = await withSession(options, async (session) => {
        const { elections, locks, groups } = await readOverview(session, options.root);
        return [
          ...elections.map(({ path }) => ({ path, kind: 'election' })),
          ...locks.map(({ path, kind }) => ({ path, kind })),
          ...groups.map(({ path }) => ({ path, kind: 'group' })),
        ].sort((a, b) => (a.path < b.path ? -1 : 1));
      });
      if (options.json) console.log(JSON.stringify(found));
      else for (const { path, kind } of found) console.log(`${printable(path)}  ${kind}`);
    });
}

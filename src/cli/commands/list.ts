import type { Command } from 'commander';
import { byPath } from '../../platform/zookeeper-paths.js';
import { checked, checkRoot } from '../options/arguments.js';
import { type ConnectionOptions, DURATIONS, withConnection, withSession } from '../options/connection.js';
import { printable } from '../process/output.js';

interface ListOptions extends ConnectionOptions {
  readonly root: string;
  readonly json?: boolean;
}

const DESCRIPTION = `Prints the paths of the elections, locks, semaphores and groups of shards at a path and below it, one per line. \
Beside each path is its kind: election, lock, read-write, semaphore or group. The command only reads.

It doesn't list an election that never had a candidate, or a lock without contenders: both look like any empty node.`;

const MORE_HELP = `
${DURATIONS}

With --json it prints an array of objects: path, kind.

Exits with 0, even if it finds nothing, 64 if the command line is wrong, 69 if it
reached no server, 77 if the servers refuse a request.

Example:
  conclave list --root /elections -c zk1:2181`;

/** `conclave list`: prints the elections, locks and groups below a path. */
export function addList(program: Command): void {
  const command = program
    .command('list')
    .summary('list the elections, locks and groups of shards')
    .description(DESCRIPTION);
  withConnection(command)
    .option('--root <path>', 'list this path and everything below it', checked(checkRoot), '/')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', MORE_HELP)
    .action(async (options: ListOptions) => {
      const { readOverview } = await import('../status/read-overview.js');
      const found = await withSession(options, async (session) => {
        const { elections, locks, groups } = await readOverview(session, options.root);
        return [
          ...elections.map(({ path }) => ({ path, kind: 'election' })),
          ...locks.map(({ path, kind }) => ({ path, kind })),
          ...groups.map(({ path }) => ({ path, kind: 'group' })),
        ].sort(byPath);
      });
      if (options.json) console.log(JSON.stringify(found));
      else for (const { path, kind } of found) console.log(`${printable(path)}  ${kind}`);
    });
}

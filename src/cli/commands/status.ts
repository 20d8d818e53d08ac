import type { Command } from 'commander';
import { checkPath } from '../../platform/checks.js';
import { checked, checkRoot } from '../options/argument-parsers.js';
import { DURATIONS, withConnection } from '../options/connection-options.js';
import { EXIT, UserError } from '../process/exit-codes.js';
import type { StatusOptions } from '../status/print-status.js';

const DESCRIPTION = `Prints a table of all elections, locks, semaphores and groups of shards. With the path of one, it prints that one in \
detail: which candidate leads the election and which wait, in the order in which they will lead; which processes hold the lock and which \
wait; how many shards each member owns. The output may be a moment old. You only need permission to read.

Beside the leader you see how long ago its newest heartbeat was committed. The table shows how much of the lease is left. The \
time of the heartbeat comes from the servers' clock, and the present time from this machine's, so the age is wrong by as much as the two differ.

A lock without contenders, and an election that never had a candidate, look like any empty node: the table doesn't have them.

With --watch it runs until SIGINT (Ctrl+C), SIGTERM or SIGHUP, or until the reader of its output has gone. In a terminal it redraws \
the page. Otherwise it prints a line for each path, and another one whenever that line has changed. While it isn't connected to a server, \
it can't know who leads: it prints a line that says so, and afterwards a line for each path again. A path that you name and that isn't \
there has a line too, and the command waits for it.`;

const MORE_HELP = `
${DURATIONS}

States of an election in the table: led; vacant: there are candidates, and none
leads; taking-over: the leader's node is gone, and candidates wait until its lease
is over; deserted: there are no candidates; unreadable. Of a lock: held, free. Of a
group: owned; incomplete: shards have no owner; deserted; unreadable. A narrow
terminal shows fewer columns.

With --json and the path of an election it prints an object: election, exists, term
(while there is a leader), leader (or null), heartbeatAgeMs (by those two clocks,
while it can be seen), candidates. The leader and each candidate have id, node,
position, priority and, if they advertise data, data (text) or base64.

Without a path it prints an array, and with --watch lines, of objects. The first
member has the path, and its name is the kind: election, state, leader (id, node,
term, since, leaseMs, heartbeatAt), candidates (id, node, position, priority, leads,
data), next; or lock, kind (lock, read-write or semaphore), capacity, queue (node, id, shared, since), holding; or group, state,
shards, members (id, node, weight, planner, data), owners (by shard, an index in
members, or -1), pins. Times are in milliseconds since 1970. What was removed has the
state removed, a path at which there is nothing the state absent. While it isn't
connected, the line is {"connected":false}.

Exits with 0 if there is a leader; if a process holds the lock; if each shard has an
owner; without a path, if there are elections and each has a leader. Exits with 1 if not, 64 if the command line is wrong, 69 if it reached no
server, 77 if the servers refuse a request. With --watch it exits with 0 after it was
stopped.

Examples:
  conclave status /elections/scheduler -c zk1:2181 --json | jq -r .leader.id
  conclave status --root /elections --watch
  conclave status /elections/scheduler --watch --json | jq -r '.leader.id // "nobody"'`;

/** `conclave status`: prints what there is, and who leads, holds or owns it. */
export function addStatus(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('status')
    .summary('print who leads, holds and waits, once or at each change')
    .description(DESCRIPTION)
    .argument(
      '[path]',
      'the path of an election, a lock or a group of shards, as /elections/scheduler (default: all of them)',
      checked((text) => checkPath('path', text)),
    );
  withConnection(command)
    .option(
      '--root <path>',
      'without a path: only what is at this path and below it (default: "/")',
      checked(checkRoot),
    )
    .option('-w, --watch', 'keep running, and show each change')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', MORE_HELP)
    .action(async (path: string | undefined, options: StatusOptions) => {
      if (path !== undefined && options.root !== undefined)
        throw new UserError(EXIT.usage, 'which ones? Give the path of one, or --root for all below a path.');
      // Loaded here, since other commands don't need it: the code that measures text takes as long to load as all the rest.
      const { printStatus, watchStatus } = await import('../status/print-status.js');
      setExitCode(await (options.watch ? watchStatus : printStatus)(path, options));
    });
}

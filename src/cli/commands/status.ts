import type { Command } from 'commander';
import { checkPath } from '../../platform/checks.js';
import { checked } from '../options/arguments.js';
import { DURATIONS, withConnection } from '../options/connection.js';
import { checkRoot } from '../options/root.js';
import { withSeat } from '../options/seat.js';
import { EXIT } from '../process/exit-codes.js';
import { UserError } from '../process/user-error.js';
import type { StatusOptions } from '../status/status.js';

const DESCRIPTION = `Prints which candidate leads an election and which wait, in the order in which they will lead; or, with --root, a table of \
all elections at a path and below it. The output may be a moment old. It takes the right to read, and no more.

With the leader stands how long ago its newest heartbeat was committed, or in the table how much that leaves of its lease: from \
the time that the servers' clock gave it to the present by this machine's clock, so it is wrong by as much as the two differ. A leader whose \
term goes by its session (--takeover session) has none to be seen.

With --watch it goes on until SIGINT (Ctrl+C), SIGTERM or SIGHUP, or until no process reads the output any more. A terminal \
is redrawn; else a line is printed for each election, and one whenever an election has changed.`;

const MORE_HELP = `
${DURATIONS}

States in the table: led; vacant: there are candidates, and none leads;
taking-over: the leader's node is gone, and its lease is waited out; deserted:
there are no candidates; unreadable. A narrow terminal shows fewer columns.

With --json it is an object: election, exists, term (while there is a leader),
leader (or null), heartbeatAgeMs (by those two clocks, while it can be seen),
candidates; the leader and each candidate with id, node, position and, if it
advertises data, data (text) or base64. With --root it is an array, and with
--watch a line, of objects: election, state, seats, leader, leaders (by seat: id,
node, term, since, leaseMs, takeover, heartbeatAt), candidates (id, node,
position, priority, leads, data), next; times in milliseconds since 1970. The line
of one that was removed has the state removed.

Exits with 0 if there is a leader, with --root if there are elections and each is
led, 1 if not, 64 if the command line is wrong, 69 if no server could be reached,
77 if the servers refuse. With --watch it exits with 0 when it was stopped.

Examples:
  conclave status /elections/scheduler -c zk1:2181 --json | jq -r .leader.id
  conclave status --root /elections --watch`;

/** `conclave status`: who leads, and who waits. */
export function addStatus(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('status')
    .summary('print who leads, and who waits')
    .description(DESCRIPTION)
    .argument(
      '[election]',
      "the election's path, as /elections/scheduler",
      checked((text) => checkPath('election', text)),
    );
  withSeat(withConnection(command))
    .option(
      '--root <path>',
      'a table of all elections at this path and below it; / for all',
      checked(checkRoot),
    )
    .option('-w, --watch', 'go on, and show each change')
    .option('--json', 'print it as JSON')
    .addHelpText('after', MORE_HELP)
    .action(async (election: string | undefined, options: StatusOptions) => {
      if ((election === undefined) === (options.root === undefined))
        throw new UserError(EXIT.usage, 'which election? Give its path, or --root for all below a path.');
      if (options.root !== undefined && options.seat !== undefined)
        throw new UserError(EXIT.usage, '--seat is for one election.');
      // Other commands needn't load it: what measures text takes as long as all the rest.
      const { printStatus, watchStatus } = await import('../status/status.js');
      setExitCode(await (options.watch ? watchStatus : printStatus)(election, options));
    });
}

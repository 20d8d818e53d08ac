import type { Command } from 'commander';
import { checkPath } from '../../platform/checks.js';
import { checked, checkRoot, withSeat } from '../options/arguments.js';
import { DURATIONS, withConnection } from '../options/connection.js';
import { EXIT, UserError } from '../process/exit-codes.js';
import type { StatusOptions } from '../status/status.js';

const DESCRIPTION = `Prints which candidate leads an election and which wait, in the order in which they will lead. With --root it prints a table of \
all elections at a path and below it. The output may be a moment old. You only need permission to read.

Beside the leader you see how long ago its newest heartbeat was committed. The table shows how much of the lease is left. The \
time of the heartbeat comes from the servers' clock, and the present time from this machine's, so the age is wrong by as much as the two differ.

With --watch it runs until SIGINT (Ctrl+C), SIGTERM or SIGHUP, or until the reader of its output has gone. In a terminal it redraws \
the page. Otherwise it prints a line for each election, and another one whenever an election has changed.`;

const MORE_HELP = `
${DURATIONS}

States in the table: led; vacant: there are candidates, and none leads;
taking-over: the leader's node is gone, and candidates wait until its lease is
over; deserted: there are no candidates; unreadable. A narrow terminal shows fewer
columns.

With --json it prints an object: election, exists, term (while there is a leader),
leader (or null), heartbeatAgeMs (by those two clocks, while it can be seen),
candidates. The leader and each candidate have id, node, position, priority and, if
they advertise data, data (text) or base64. In an election with several seats it
also has leaders: for each seat an object with seat, term, leader, heartbeatAgeMs.
Then leader is the leader of --seat, or else of the first seat that is led. With
--root it prints an array, and with --watch lines, of objects: election, state,
seats, leader, leaders (by seat: id, node, term, since, leaseMs, heartbeatAt),
candidates (id, node, position, priority, leads, data), next. Times are in
milliseconds since 1970. If an election was removed, its line has the state removed.

Exits with 0 if there is a leader, with --seat on that seat; with --root, if there
are elections and each has a leader. Exits with 1 if not, 64 if the command line is
wrong, 69 if it reached no server, 77 if the servers refuse a request. With --watch
it exits with 0 after it was stopped.

Examples:
  conclave status /elections/scheduler -c zk1:2181 --json | jq -r .leader.id
  conclave status --root /elections --watch`;

/** `conclave status`: prints the leader, and the candidates that wait. */
export function addStatus(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('status')
    .summary('print the leader and the waiting candidates')
    .description(DESCRIPTION)
    .argument(
      '[election]',
      "the election's path, as /elections/scheduler",
      checked((text) => checkPath('election', text)),
    );
  withSeat(withConnection(command))
    .option(
      '--root <path>',
      'print a table of all elections at this path and below it; / for all',
      checked(checkRoot),
    )
    .option('-w, --watch', 'keep running, and show each change')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', MORE_HELP)
    .action(async (election: string | undefined, options: StatusOptions) => {
      if ((election === undefined) === (options.root === undefined))
        throw new UserError(EXIT.usage, 'which election? Give its path, or --root for all below a path.');
      if (options.root !== undefined && options.seat !== undefined)
        throw new UserError(EXIT.usage, '--seat is for one election: give its path instead of --root.');
      // Loaded here, since other commands don't need it: the code that measures text takes as long to load as all the rest.
      const { printStatus, watchStatus } = await import('../status/status.js');
      setExitCode(await (options.watch ? watchStatus : printStatus)(election, options));
    });
}

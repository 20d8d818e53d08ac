import type { Command } from 'commander';
import type { Candidate } from '../../election/nodes/candidate.js';
import { ElectionObserver } from '../../election/observer/observer.js';
import { describe } from '../../errors.js';
import { LazyAbortController } from '../../platform/async/lazy-abort.js';
import { systemEnvironment } from '../../platform/environment.js';
import { withElection } from '../options/arguments.js';
import {
  type ConnectionOptions,
  DURATIONS,
  startInTime,
  targetOf,
  withConnection,
} from '../options/connection.js';
import { type SeatOptions, withSeat } from '../options/seat.js';
import { candidateJson, candidateLine, printError } from '../process/output.js';
import { whenStopAsked } from '../process/stop-asked.js';
import { orUserError } from '../process/user-error.js';

interface ObserveOptions extends ConnectionOptions, SeatOptions {
  readonly json?: boolean;
}

const DESCRIPTION = `Prints the leader of an election: one line for the current leader and one at each change, until SIGINT \
(Ctrl+C), SIGTERM or SIGHUP, or until no process reads the output any more. A line has the leader's id and the data that \
it advertises. The line is "nobody leads" if there is no leader, or if this process can't know the leader.

The output may be a moment old. You need permission to read, and no other. If the election doesn't exist yet, the command \
waits for it.`;

const MORE_HELP = `
${DURATIONS}

With --json each line is an object with the member leader. That is null, or has
id, node, position and, if the leader advertises data, data (text) or base64.

Exits with 0 after a signal or the end of its reader has stopped it, 64 if the
command line is wrong, 69 if it reached no server at the start, 77 if the servers
refuse.

Examples:
  conclave observe /elections/scheduler -c zk1:2181,zk2:2181
  conclave observe /elections/primary --json | while read -r leader; do …; done`;

/** `conclave observe`: prints the leader at each change. */
export function addObserve(program: Command): void {
  const command = program
    .command('observe')
    .summary('print the leader, at each change')
    .description(DESCRIPTION);
  withSeat(withConnection(withElection(command)))
    .option('--json', 'print each line as JSON')
    .addHelpText('after', MORE_HELP)
    .action(observe);
}

async function observe(election: string, options: ObserveOptions): Promise<void> {
  const target = targetOf(options);
  const { connect, session } = target;
  const observer = orUserError(
    () => new ElectionObserver(connect, election, { session, seat: options.seat }),
  );
  observer.on('error', (error) => printError(describe(error)));
  const ended = new LazyAbortController();
  const watched = whenStopAsked(systemEnvironment.clock, ended, () => void observer.stop());
  try {
    await Promise.all([startInTime(observer, target), watched]);
    for await (const leader of observer) console.log(format(leader, options.json ?? false));
    await observer.stop(); // Waits until the session is closed.
  } finally {
    ended.abort(undefined);
  }
}

function format(leader: Candidate | undefined, json: boolean): string {
  if (json) return JSON.stringify({ leader: leader === undefined ? null : candidateJson(leader) });
  return leader === undefined ? 'nobody leads' : candidateLine(leader);
}

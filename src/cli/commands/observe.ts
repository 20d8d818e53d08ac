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

const DESCRIPTION = `Prints who leads an election, one line for the current leader and one at each change, until SIGINT \
(Ctrl+C), SIGTERM or SIGHUP, or until no process reads the output any more. A line has the leader's id and the data that \
it advertises; it is "nobody leads" when there is no leader, or when the leader can't be known.

The output may be a moment old. Observing takes the right to read, and no more; an election that doesn't exist yet is \
waited for.`;

const MORE_HELP = `
${DURATIONS}

With --json each line is an object with the member leader, which is null or has
id, node, position and, if it advertises data, data (text) or base64.

Exits with 0 when a signal or the end of its reader stopped it, 64 if the command
line is wrong, 69 if no server could be reached at the start, 77 if the servers
refuse.

Examples:
  conclave observe /elections/scheduler -c zk1:2181,zk2:2181
  conclave observe /elections/primary --json | while read -r leader; do …; done`;

/** `conclave observe`: prints the leader at each change. */
export function addObserve(program: Command): void {
  const command = program
    .command('observe')
    .summary('print who leads, at each change')
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

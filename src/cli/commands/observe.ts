import type { Command } from 'commander';
import type { Candidate } from '../../election/nodes/candidate.js';
import { ElectionObserver } from '../../election/observer/observer.js';
import { describe } from '../../errors.js';
import { LazyAbortController } from '../../platform/async/lazy-abort.js';
import { systemEnvironment } from '../../platform/environment.js';
import type { Timer } from '../../platform/time/clock.js';
import { printError } from '../campaign.js';
import { EXIT } from '../exit-codes.js';
import { withElection } from '../options/arguments.js';
import {
  asProblem,
  type ConnectionOptions,
  DURATIONS,
  type Target,
  targetOf,
  withConnection,
} from '../options/connection.js';
import { type SeatOptions, seatOf, withSeat } from '../options/seat.js';
import { line, shown } from '../output.js';
import { whenUnread } from '../output-reader.js';
import { untilSignal } from '../until-signal.js';
import { UserError } from '../user-error.js';

interface ObserveOptions extends ConnectionOptions, SeatOptions {
  readonly json?: boolean;
}

const DESCRIPTION = `Prints who leads an election, one line for the leader of now and one at each change, until it is told to \
stop by SIGINT (Ctrl+C), SIGTERM or SIGHUP, or nobody reads on. A line has what the leader calls itself, and what it \
tells about itself; it is "nobody leads" when nobody does, or it can't be known.

It shows what the servers said a moment ago. It needs the right to read, and no more; an election that isn't there yet \
is waited for.`;

const MORE_HELP = `
${DURATIONS}

With --json each line is an object with the member leader, which is null or has
id, node, position and, if it tells something, data (text) or base64.

Exits with 0 when it was told to stop, 64 if the command line is wrong, 69 if no
server could be reached at the start, 77 if the servers refuse.

Examples:
  conclave observe /elections/scheduler -c zk1:2181,zk2:2181
  conclave observe /elections/primary --json | while read -r leader; do …; done`;

/** `conclave observe`: who leads, as it changes. */
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
  const observer = makeObserver(election, target, options);
  observer.on('error', (error) => printError(describe(error)));
  const over = new LazyAbortController();
  const stop = () => void observer.stop();
  void untilSignal().then(stop);
  process.stdout.once('error', stop); // EPIPE: its reader has gone.
  // Which would be seen at the next change of the leader, so perhaps in a week.
  const looked = whenUnread(process.stdout.fd, systemEnvironment.clock, over, stop);
  try {
    await Promise.all([start(observer, target), looked]);
    for await (const leader of observer) console.log(format(leader, options.json ?? false));
    await observer.stop(); // Until it has closed its session.
  } finally {
    over.abort(undefined);
  }
}

function makeObserver(
  election: string,
  { connect, session }: Target,
  options: ObserveOptions,
): ElectionObserver {
  try {
    return new ElectionObserver(connect, election, { session, ...seatOf(options) });
  } catch (error) {
    throw asProblem(error);
  }
}

/** Resolves when it has looked, or was stopped before that. @throws Problem if it can't */
async function start(observer: ElectionObserver, { connect, session }: Target): Promise<void> {
  const { connectTimeoutMs } = session;
  let noServer: Timer | undefined;
  const unreachable = new Promise<never>((_, reject) => {
    noServer = systemEnvironment.clock.after(connectTimeoutMs, () =>
      reject(new UserError(EXIT.unavailable, `no server of ${connect} in ${connectTimeoutMs} ms`)),
    );
  });
  try {
    await Promise.race([observer.start(), unreachable]);
  } catch (error) {
    await observer.stop();
    throw asProblem(error);
  } finally {
    noServer?.clear();
  }
}

function format(leader: Candidate | undefined, json: boolean): string {
  if (json) return JSON.stringify({ leader: leader === undefined ? null : shown(leader) });
  return leader === undefined ? 'nobody leads' : line(leader);
}

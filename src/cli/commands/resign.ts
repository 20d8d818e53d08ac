import type { Command } from 'commander';
import { readElection } from '../../election/record/election-reader.js';
import { revokeLeader } from '../../election/revoke-leader.js';
import { RevocationRefusedError } from '../../errors.js';
import type { Session } from '../../session/session.js';
import { checkSeatOf, duration, type SeatOptions, withElection, withSeat } from '../options/arguments.js';
import { type ConnectionOptions, DURATIONS, withConnection, withSession } from '../options/connection.js';
import { EXIT, UserError } from '../process/exit-codes.js';
import { printable } from '../process/output.js';

interface ResignOptions extends ConnectionOptions, SeatOptions {
  readonly grace?: number;
}

const DESCRIPTION = `Asks the leader of an election to step down, and waits until it has done so. Then the next candidate in \
the queue leads. A leader that campaigns again goes to the back of the queue. A leader that is conclave run without \
--restart ends, with exit code 76.

In an election with several seats it asks the leader of each seat, one after the other: it waits until one has stepped down before \
it asks the next. With --seat it asks only the leader of that seat.

You need permission to write the leader's node: if the leader uses --auth, give the same credentials.`;

const MORE_HELP = `
${DURATIONS}

Prints the id of each leader that stepped down, with its seat if the election has
several, and exits with 0. Exits with 1 if there is no leader, 64 if the command line is wrong, 69 if it reached no server,
75 if the leader refused or didn't step down in time, 77 if the servers refuse the request.

Example:
  conclave resign /elections/scheduler -c zk1:2181 --grace 30s`;

/** `conclave resign`: asks the leader to step down. */
export function addResign(program: Command, setExitCode: (code: number) => void): void {
  const command = program.command('resign').summary('ask the leader to step down').description(DESCRIPTION);
  withSeat(withConnection(withElection(command)))
    .option(
      '--grace <duration>',
      "how long the leader's work may take to settle (default: the session timeout)",
      duration(),
    )
    .addHelpText('after', MORE_HELP)
    .action(async (election: string, options: ResignOptions) => setExitCode(await resign(election, options)));
}

async function resign(election: string, options: ResignOptions): Promise<number> {
  return await withSession(options, async (session) => {
    const { exists, seats } = await readElection(session, election);
    if (exists) checkSeatOf(election, options.seat, seats.length);
    if (seats.length === 1 || options.seat !== undefined) {
      const leader = await stepDown(session, election, options);
      console.log(leader ?? 'nobody leads');
      return leader === undefined ? EXIT.noLeader : EXIT.ok;
    }
    let exitCode: number = EXIT.noLeader;
    for (const seat of seats.keys()) {
      const leader = await stepDown(session, election, { ...options, seat });
      if (leader === undefined) continue;
      console.log(`seat ${seat}  ${leader}`);
      exitCode = EXIT.ok;
    }
    if (exitCode === EXIT.noLeader) console.log('nobody leads');
    return exitCode;
  });
}

/** @returns the id of the leader that stepped down */
async function stepDown(
  session: Session,
  election: string,
  { seat, grace: graceMs }: ResignOptions,
): Promise<string | undefined> {
  try {
    const leader = await revokeLeader(session, election, { seat, graceMs });
    return leader && printable(leader.id);
  } catch (error) {
    if (!(error instanceof RevocationRefusedError)) throw error;
    throw new UserError(EXIT.notInTime, printable(error.message), { cause: error });
  }
}

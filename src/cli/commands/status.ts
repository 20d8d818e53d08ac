import type { Command } from 'commander';
import type { Candidate } from '../../election/nodes/candidate.js';
import { ElectionReader } from '../../election/nodes/election-reader.js';
import { type LeaderSnapshot, leaderOf } from '../../election/nodes/snapshot.js';
import type { Session } from '../../session/session.js';
import { EXIT } from '../exit-codes.js';
import { withElection } from '../options/arguments.js';
import { type ConnectionOptions, DURATIONS, withConnection, withSession } from '../options/connection.js';
import { type SeatOptions, withSeat } from '../options/seat.js';
import { line, shown } from '../output.js';

interface StatusOptions extends ConnectionOptions, SeatOptions {
  readonly json?: boolean;
}

/** What is known of an election at one moment. */
interface Status {
  readonly election: string;
  readonly sighting: LeaderSnapshot;
  readonly candidates: readonly Candidate[];
}

const DESCRIPTION = `Prints who leads an election and who waits, in the order in which they will lead. What it prints was so a \
moment ago.`;

const MORE_HELP = `
${DURATIONS}

With --json it is an object: election, exists, term (while somebody leads),
leader (or null), candidates; each of those with id, node, position and, if it
tells something, data (text) or base64.

Exits with 0 if somebody leads, 1 if nobody does, 64 if the command line is
wrong, 69 if no server could be reached, 77 if the servers refuse.

Example:
  conclave status /elections/scheduler -c zk1:2181 --json | jq -r .leader.id`;

/** `conclave status`: who leads, and who waits. */
export function addStatus(program: Command, conclude: (code: number) => void): void {
  const command = program
    .command('status')
    .summary('print who leads, and who waits')
    .description(DESCRIPTION);
  withSeat(withConnection(withElection(command)))
    .option('--json', 'print it as JSON')
    .addHelpText('after', MORE_HELP)
    .action(async (election: string, options: StatusOptions) => {
      const status = await withSession(options, (session) => look(session, election, options.seat));
      console.log(options.json ? asJson(status) : asText(status));
      conclude(leaderOf(status.sighting) === undefined ? EXIT.nobody : EXIT.ok);
    });
}

async function look(session: Session, election: string, seat: number | undefined): Promise<Status> {
  const roll = new ElectionReader(session, election, seat);
  const [sighting, candidates] = await Promise.all([roll.snapshot(), roll.candidates()]);
  return { election, sighting, candidates };
}

function asJson({ election, sighting, candidates }: Status): string {
  const leader = leaderOf(sighting);
  return JSON.stringify({
    election,
    exists: sighting.kind !== 'missing',
    ...(sighting.kind === 'led' && { term: sighting.term }),
    leader: leader === undefined ? null : shown(leader),
    candidates: candidates.map(shown),
  });
}

function asText({ sighting, candidates }: Status): string {
  if (sighting.kind === 'missing') return 'there is no such election';
  const first = sighting.kind === 'led' ? `term ${sighting.term}  ${line(sighting.leader)}` : 'nobody leads';
  const leader = leaderOf(sighting)?.node;
  const waiting = candidates.filter(({ node }) => node !== leader).map((each) => `waits  ${line(each)}`);
  return [first, ...waiting].join('\n');
}

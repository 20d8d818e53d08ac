import type { Command } from 'commander';
import { ElectionReader } from '../../election/nodes/election-reader.js';
import { leaderOf } from '../../election/nodes/snapshot.js';
import type { Session } from '../../session/session.js';
import { withElection } from '../options/arguments.js';
import { type ConnectionOptions, DURATIONS, withConnection, withSession } from '../options/connection.js';
import { type SeatOptions, withSeat } from '../options/seat.js';
import { EXIT } from '../process/exit-codes.js';
import { candidateJson, candidateLine } from '../process/output.js';

interface StatusOptions extends ConnectionOptions, SeatOptions {
  readonly json?: boolean;
}

/** An election at one moment. */
type Status = Awaited<ReturnType<typeof readStatus>>;

const DESCRIPTION = `Prints which candidate leads an election and which wait, in the order in which they will lead. The output \
may be a moment old.

With the leader stands how long ago its newest heartbeat was committed: from the time that the servers' clock gave it to the \
present by this machine's clock, so it is wrong by as much as the two differ. A leader whose term goes by its session \
(--takeover session) has none to be seen.`;

const MORE_HELP = `
${DURATIONS}

With --json it is an object: election, exists, term (while there is a leader),
leader (or null), heartbeatAgeMs (by those two clocks, while it can be seen),
candidates; the leader and each candidate with id, node, position and, if it
advertises data, data (text) or base64.

Exits with 0 if there is a leader, 1 if there is none, 64 if the command line
is wrong, 69 if no server could be reached, 77 if the servers refuse.

Example:
  conclave status /elections/scheduler -c zk1:2181 --json | jq -r .leader.id`;

/** `conclave status`: who leads, and who waits. */
export function addStatus(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('status')
    .summary('print who leads, and who waits')
    .description(DESCRIPTION);
  withSeat(withConnection(withElection(command)))
    .option('--json', 'print it as JSON')
    .addHelpText('after', MORE_HELP)
    .action(async (election: string, options: StatusOptions) => {
      const status = await withSession(options, (session) => readStatus(session, election, options.seat));
      console.log(options.json ? asJson(status) : asText(status));
      setExitCode(leaderOf(status.snapshot) === undefined ? EXIT.noLeader : EXIT.ok);
    });
}

async function readStatus(session: Session, election: string, seat: number | undefined) {
  const reader = new ElectionReader(session, election, seat);
  const [snapshot, candidates] = await Promise.all([reader.snapshot(), reader.candidates()]);
  const leader = leaderOf(snapshot);
  const heartbeatAtMs = leader === undefined ? undefined : await reader.heartbeatAtMs(leader);
  const heartbeatAgeMs =
    heartbeatAtMs === undefined ? undefined : ageMs(heartbeatAtMs, session.clock.date().getTime());
  return { election, snapshot, candidates, heartbeatAgeMs };
}

/** By two clocks: the servers' may be ahead of this machine's. */
export function ageMs(atMs: number, nowMs: number): number {
  return Math.max(0, nowMs - atMs);
}

function asJson({ election, snapshot, candidates, heartbeatAgeMs }: Status): string {
  const leader = leaderOf(snapshot);
  return JSON.stringify({
    election,
    exists: snapshot.kind !== 'missing',
    ...(snapshot.kind === 'led' && { term: snapshot.term }),
    leader: leader === undefined ? null : candidateJson(leader),
    ...(heartbeatAgeMs !== undefined && { heartbeatAgeMs }),
    candidates: candidates.map(candidateJson),
  });
}

function asText({ snapshot, candidates, heartbeatAgeMs }: Status): string {
  if (snapshot.kind === 'missing') return 'there is no such election';
  const first =
    snapshot.kind === 'led' ? `term ${snapshot.term}  ${candidateLine(snapshot.leader)}` : 'nobody leads';
  const heartbeat =
    heartbeatAgeMs === undefined
      ? []
      : [`heartbeat  ${heartbeatAgeMs} ms ago, by the servers' clock and this machine's`];
  const leader = leaderOf(snapshot)?.node;
  const waiting = candidates
    .filter(({ node }) => node !== leader)
    .map((each) => `waits  ${candidateLine(each)}`);
  return [first, ...heartbeat, ...waiting].join('\n');
}

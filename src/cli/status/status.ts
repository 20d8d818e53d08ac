import type { OverviewState } from '../../overview/model/views.js';
import { systemEnvironment } from '../../platform/environment.js';
import { type ConnectionOptions, targetOf, withSession } from '../options/connection.js';
import type { SeatOptions } from '../options/seat.js';
import { EXIT } from '../process/exit-codes.js';
import { electionTable } from '../table/election-table.js';
import { electionDetails, electionJson } from './election-text.js';
import { ChangeLines, LivePage, type Presentation } from './presentations.js';
import { printElection } from './print-election.js';
import { readOverview, withHeartbeats } from './read-overview.js';
import { watchElections } from './watch.js';

/** The options of `conclave status`. */
export interface StatusOptions extends ConnectionOptions, SeatOptions {
  readonly root?: string;
  readonly watch?: boolean;
  readonly json?: boolean;
}

/** Prints the status once. @returns the exit code */
export async function printStatus(election: string | undefined, options: StatusOptions): Promise<number> {
  if (election === undefined) return await printTable(options);
  const isLed = await withSession(options, (session) => printElection(session, election, options));
  return isLed ? EXIT.ok : EXIT.noLeader;
}

async function printTable({ root = '/', ...options }: StatusOptions): Promise<number> {
  const elections = await withSession(options, async (session) =>
    withHeartbeats(session, (await readOverview(session, root)).elections),
  );
  if (options.json) console.log(JSON.stringify(elections.map(electionJson)));
  else {
    const width = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
    for (const line of electionTable(elections, systemEnvironment.clock.date().getTime(), width))
      console.log(line);
  }
  return elections.length > 0 && elections.every(({ state }) => state === 'led') ? EXIT.ok : EXIT.noLeader;
}

/** Prints the status, then each change, until it is stopped. @returns the exit code */
export async function watchStatus(election: string | undefined, options: StatusOptions): Promise<number> {
  const { json = false, seat, root = '/' } = options;
  const page = (state: OverviewState, nowMs: number, width: number) =>
    election === undefined
      ? electionTable(state.elections, nowMs, width)
      : electionDetails(state.elections[0], seat, nowMs);
  const present = (): Presentation =>
    process.stdout.isTTY && !json
      ? new LivePage(systemEnvironment.clock, page)
      : new ChangeLines((line) => console.log(line), json);
  const only = (state: OverviewState) => ({
    ...state,
    elections: state.elections.filter(({ path }) => election === undefined || path === election),
  });
  await watchElections(election ?? root, targetOf(options), present, only);
  return EXIT.ok;
}

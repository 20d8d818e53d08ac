import { AuthenticationError, describe } from '../../errors.js';
import type { OverviewState } from '../../overview/model/views.js';
import { Overview } from '../../overview/overview.js';
import { LazyAbortController } from '../../platform/async/lazy-abort-controller.js';
import { deferred, ignore } from '../../platform/async/promises.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import type { SeatOptions } from '../options/arguments.js';
import {
  type ConnectionOptions,
  startInTime,
  type Target,
  targetOf,
  withSession,
} from '../options/connection.js';
import { asUserError, EXIT, orUserError } from '../process/exit-codes.js';
import { printError } from '../process/output.js';
import { whenStopAsked } from '../process/stop-asked.js';
import { electionDetails, electionJson, electionTable } from './election-text.js';
import { ChangeLines, LivePage, type Presentation } from './live-page-and-lines.js';
import { printElection } from './print-election.js';
import { readOverview, withHeartbeats } from './read-overview.js';

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

/**
 * Shows the elections at a path and below it, until a signal to stop, or until no process reads the output.
 * @param present - makes the presentation; called when the elections have been read
 * @param only - selects the part of the state to show
 * @throws UserError if it reaches no server at the start, or the servers refuse
 */
export async function watchElections(
  root: string,
  target: Target,
  present: () => Presentation,
  only: (state: OverviewState) => OverviewState = (state) => state,
): Promise<void> {
  const { connect, session } = target;
  const overview = orUserError(() => new Overview(connect, { root, session }));
  const ended = new LazyAbortController();
  const stopAsked = deferred();
  let presentation: Presentation | undefined;
  overview.on('error', (error) => {
    if (error instanceof AuthenticationError)
      stopAsked.reject(asUserError(error)); // It reads no more.
    else if (presentation === undefined) printError(describe(error));
    else presentation.report(describe(error));
  });
  stopAsked.promise.catch(ignore); // At the start the overview says so itself.
  let isStopAsked = false;
  const show = () => presentation?.show(only(overview.state));
  // The reader may wait for one line only, and end. So look for the reader before you print anything.
  const watched = whenStopAsked(systemEnvironment.clock, ended, () => {
    isStopAsked = true;
    stopAsked.resolve();
    void overview.stop(); // Ends a start that is under way.
  });
  try {
    await Promise.all([startInTime(overview, target), watched]);
    overview.attend();
    presentation = present();
    overview.on('change', show);
    show();
    await stopAsked.promise;
  } catch (error) {
    if (!isStopAsked) throw error; // A start that was ended rejects.
  } finally {
    presentation?.end();
    ended.abort(undefined);
    await overview.stop();
  }
}

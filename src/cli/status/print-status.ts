import { ElectionReader } from '../../election/record/election-reader.js';
import { AuthenticationError, describe } from '../../errors.js';
import { kindOf } from '../../overview/model/node-kind.js';
import type { ElectionView, OverviewState } from '../../overview/model/view-types.js';
import { Overview } from '../../overview/overview.js';
import { LazyAbortController } from '../../platform/async/lazy-abort-controller.js';
import { deferred, ignore } from '../../platform/async/promises.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import { ifThere } from '../../session/operations.js';
import type { Session } from '../../session/session.js';
import { type ConnectionOptions, startInTime, targetOf, withSession } from '../options/connection-options.js';
import { asUserError, EXIT, orUserError } from '../process/exit-codes.js';
import { onceRecordOf } from '../process/once-log-path.js';
import { print, printError } from '../process/output.js';
import { whenStopAsked } from '../process/stop-signals.js';
import { ChangeLines, LivePage, type Presentation, type ShownOverview } from './live-page.js';
import { printElection } from './print-election.js';
import { absentItem, itemJson, itemsOf, itemTable, type ShownItem } from './shown-items.js';
import { whyNoElection, whyNothing } from './why-nothing-there.js';

/** The options of `conclave status`. */
export interface StatusOptions extends ConnectionOptions {
  readonly root?: string;
  readonly watch?: boolean;
  readonly json?: boolean;
}

/** Prints the status once. @returns the exit code */
export async function printStatus(path: string | undefined, options: StatusOptions): Promise<number> {
  if (path === undefined) return await printTable(options);
  const isServed = await withSession(options, async (session) => {
    if (!(await isElection(session, path))) return await printLockOrGroup(session, path, options);
    const why = await whyNoElection(session, path);
    if (why !== undefined) printError(why);
    return await printElection(session, path, options);
  });
  return isServed ? EXIT.ok : EXIT.noLeader;
}

/** An empty node, or none, counts as an election. */
async function isElection(session: Session, path: string): Promise<boolean> {
  const node = await ifThere(session.retryUntilAnswered(() => session.getData(path)));
  const names = await ifThere(session.retryUntilAnswered(() => session.getChildren(path)));
  if (node === undefined || names === undefined) return true;
  return ['election', 'other'].includes(kindOf({ data: node.data, version: node.stat.version, names }).name);
}

/** @returns whether a process holds the lock, or each shard has an owner */
async function printLockOrGroup(
  session: Session,
  path: string,
  { json }: { readonly json?: boolean },
): Promise<boolean> {
  const items = itemsOf(await readOverview(session, path));
  const item = items.find((each) => each.path === path) ?? absentItem(path);
  print(...(json ? [JSON.stringify(itemJson(item))] : item.details(now())));
  return item.isServed;
}

/** @returns the exit code */
async function printTable({ root = '/', ...options }: StatusOptions): Promise<number> {
  const items = await withSession(options, async (session) => {
    const state = await readOverview(session, root);
    const { elections, locks, groups, limits = [] } = state;
    if (elections.length + locks.length + groups.length + limits.length === 0)
      printError(
        (await session.isThere(root))
          ? `there are no elections, locks and groups of shards at ${root} and below it`
          : await whyNothing(session, root),
      );
    const shown = itemsOf({ ...state, elections: await withHeartbeats(session, elections) });
    return await Promise.all(
      shown.map(async (item) => ({
        ...item,
        isServed: item.isServed || (await isBetweenFirings(session, item)),
      })),
    );
  });
  const width = process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY;
  if (options.json) print(JSON.stringify(items.map(itemJson)));
  else for (const line of itemTable(items, now(), width)) print(line);
  const elections = items.filter(({ kind }) => kind === 'election');
  return elections.length > 0 && elections.every(({ isServed }) => isServed) ? EXIT.ok : EXIT.noLeader;
}

/** Whether `conclave once` runs a command there from time to time: in between it has no candidates. */
async function isBetweenFirings(session: Session, { path, kind, facts }: ShownItem): Promise<boolean> {
  if (kind !== 'election' || (facts as { state?: unknown }).state !== 'deserted') return false;
  return await session.retryUntilAnswered(() => session.isThere(onceRecordOf(path)));
}

function now(): number {
  return systemEnvironment.clock.date().getTime();
}

/**
 * Prints the status, then each change, until a signal to stop, or until no process reads the output.
 * @returns the exit code
 * @throws UserError if it reaches no server at the start, or the servers refuse
 */
export async function watchStatus(path: string | undefined, options: StatusOptions): Promise<number> {
  const target = targetOf(options);
  const { connect, session } = target;
  const overview = orUserError(() => new Overview(connect, { root: path ?? options.root ?? '/', session }));
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
  const show = () => presentation?.show(shownOf(overview.state, path));
  // The reader may wait for one line only, and end. So look for the reader before you print anything.
  const watched = whenStopAsked(systemEnvironment.clock, ended, () => {
    isStopAsked = true;
    stopAsked.resolve();
    void overview.stop(); // Ends a start that is under way.
  });
  try {
    await Promise.all([startInTime(overview, target), watched]);
    overview.attend();
    presentation = presentationOf(path, options);
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
  return EXIT.ok;
}

/** Of one path: what is there, and nothing below it. */
function shownOf(state: OverviewState, path: string | undefined): ShownOverview {
  const all = itemsOf(state);
  const items = path === undefined ? all : [all.find((each) => each.path === path) ?? absentItem(path)];
  return { ...state, items };
}

function presentationOf(path: string | undefined, { json = false }: StatusOptions): Presentation {
  if (!process.stdout.isTTY || json) return new ChangeLines(print, json);
  return new LivePage(systemEnvironment.clock, (items, nowMs, width) =>
    path === undefined ? itemTable(items, nowMs, width) : items.flatMap((item) => item.details(nowMs)),
  );
}

/** Reads what is at a path and below it, at one moment. Prints on standard error what it doesn't look at. */
export async function readOverview(session: Session, root: string): Promise<OverviewState> {
  const overview = new Overview(session, { root });
  try {
    await overview.start();
    const { state } = overview;
    for (const limit of state.limits ?? []) printError(limit);
    return state;
  } finally {
    await overview.stop();
  }
}

/** The elections with the time of each leader's newest heartbeat, by the servers' clock. */
export function withHeartbeats(
  session: Session,
  elections: readonly ElectionView[],
): Promise<ElectionView[]> {
  return Promise.all(elections.map((view) => withHeartbeat(session, view)));
}

async function withHeartbeat(session: Session, view: ElectionView): Promise<ElectionView> {
  const { path, leader, candidates } = view;
  if (leader === null || !candidates.some(({ node }) => node === leader.node)) return view;
  const heartbeatAt = (await new ElectionReader(session, path).heartbeatAtMs(leader)) ?? null;
  return { ...view, leader: { ...leader, heartbeatAt } };
}

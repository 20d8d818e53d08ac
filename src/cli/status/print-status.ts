import { ElectionReader } from '../../election/record/election-reader.js';
import { AuthenticationError, describe } from '../../errors.js';
import type { ElectionView, OverviewState } from '../../overview/model/view-types.js';
import { Overview } from '../../overview/overview.js';
import { LazyAbortController } from '../../platform/async/lazy-abort-controller.js';
import { abortable, deferred, ignore } from '../../platform/async/promises.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import type { Session } from '../../session/session.js';
import { type ConnectionOptions, targetOf, unreachable, withSession } from '../options/connection-options.js';
import { asUserError, EXIT, orUserError } from '../process/exit-codes.js';
import { onceRecordOf } from '../process/once-record-path.js';
import { print, printError } from '../process/output.js';
import { whenStopAsked } from '../process/stop-signals.js';
import { kindOfFamily, readFamily } from '../prune/walk-tree.js';
import { absentItem, itemJson, itemsOf, itemTable, type ShownItem } from './items-as-json-and-text.js';
import {
  ChangeLines,
  LivePage,
  type Presentation,
  type ShownOverview,
  UNNAMED_COLUMNS,
} from './live-page.js';
import { printElection } from './print-election.js';
import { whyNoElection, whyNothing } from './why-nothing-there.js';

const { clock } = systemEnvironment;

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
    const family = await readFamily(session, path);
    const kind = family === undefined ? 'other' : kindOfFamily(family).name;
    // An empty node, or none, counts as an election.
    if (kind !== 'election' && kind !== 'other') return await printLockOrGroup(session, path, options);
    const why = await whyNoElection(session, path);
    if (why !== undefined) printError(why);
    return await printElection(session, path, options);
  });
  return isServed ? EXIT.ok : EXIT.noLeader;
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
        (await session.retryUntilAnswered(() => session.isThere(root)))
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
  const width = process.stdout.isTTY ? process.stdout.columns || UNNAMED_COLUMNS : Number.POSITIVE_INFINITY;
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
  return clock.date().getTime();
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
  const late = new LazyAbortController();
  const timer = clock.after(session.connectTimeoutMs, () => late.abort(unreachable(target)));
  // The reader may wait for one line only, and end. So look for the reader before you print anything.
  const watched = whenStopAsked(ended, () => {
    isStopAsked = true;
    stopAsked.resolve();
    void overview.stop(); // Ends a start that is under way.
  });
  try {
    await Promise.all([abortable(overview.start(), late), watched]);
    overview.attend();
    presentation = presentationOf(path, options);
    overview.on('change', show);
    show();
    await stopAsked.promise;
  } catch (error) {
    if (!isStopAsked) throw asUserError(error); // A start that was ended rejects.
  } finally {
    timer.clear();
    presentation?.end?.();
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
  return new LivePage((items, nowMs, width) =>
    path === undefined ? itemTable(items, nowMs, width) : items.flatMap((item) => item.details(nowMs)),
  );
}

/** Reads what is at a path and below it, at one moment. Prints on standard error what it doesn't look at. */
async function readOverview(session: Session, root: string): Promise<OverviewState> {
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
async function withHeartbeats(session: Session, elections: readonly ElectionView[]): Promise<ElectionView[]> {
  const views = elections.map(async (view) => {
    const { path, leader, candidates } = view;
    if (leader === null || !candidates.some(({ node }) => node === leader.node)) return view;
    const heartbeatAt = (await new ElectionReader(session, path).heartbeatAtMs(leader)) ?? null;
    return { ...view, leader: { ...leader, heartbeatAt } };
  });
  return await Promise.all(views);
}

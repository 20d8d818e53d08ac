// Imports more than 15 modules: 16, each for one of the steps: read, refuse, decide, ask, wait, remove.
import type { Command } from 'commander';
import { checkPath } from '../../platform/checks.js';
import { sleep } from '../../platform/time/clock.js';
import type { Session } from '../../session/session.js';
import { checked, duration } from '../options/arguments.js';
import { type ConnectionOptions, withConnection, withSession } from '../options/connection.js';
import { checkRoot } from '../options/root.js';
import { durationText } from '../process/duration-text.js';
import { EXIT } from '../process/exit-codes.js';
import { printable, printError } from '../process/output.js';
import { isConfirmed } from '../process/question.js';
import { UserError } from '../process/user-error.js';
import type { ElectionNodes } from '../prune/election-nodes.js';
import { refuseBelowGroup } from '../prune/refuse-below-group.js';
import { decide, type PruneDecision } from '../prune/removable.js';
import { remove } from '../prune/removal.js';
import { findElections, readElection } from '../prune/search.js';

interface PruneOptions extends ConnectionOptions {
  readonly root?: string;
  readonly olderThan: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const YEARS_MS = 100 * 365 * 86_400_000;

const DESCRIPTION = `Removes elections in which no process takes part: one election, or with --root all at a path and below it. Lists them, and asks first.

It removes an election that was led or has seats, if the election has no candidates and no nodes of other kinds below it. It removes the \
records of the seats as well and, if no task ran for an hour, the notes of node-cron's coordinator. If a candidate joins meanwhile, the \
election stays. If a leader ended uncleanly, the command first waits until the lease is over, as a candidate would.

It never removes elections with candidates, elections that were never led, locks, semaphores, groups of shards and anything below them, \
the nodes above, or nodes that other clients have written. A path below a group of shards is refused.

If you use a removed election again, it begins with term 1. Its fencing tokens go on rising: they are transaction numbers of the servers. \
Stop the processes of an election before you prune it: a process that hangs while it joins doesn't notice that the election was \
removed and created again.`;

const MORE_HELP = `
Durations: 500ms, 30s, 2m, 1h, 30d. The age of an election is the difference
between the servers' clock at its last change and this machine's clock now.

Prints a line for each election that it has removed, or with --dry-run for each
that it would remove. Exits with 0 if it has removed them or there are none, 1 if
you answered no, 64 if the command line is wrong, if there is no such election, if
the path is below a group of shards, or if there is no terminal to ask in and no
--yes, 69 if it reached no server, 75 if it can't remove the election that you
named for now, 77 if the servers refuse a request.

Examples:
  conclave prune --root /elections -c zk1:2181 --older-than 30d
  conclave prune /elections/report-2019 --yes`;

/** `conclave prune`: removes elections that no process takes part in. */
export function addPrune(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('prune')
    .summary('remove elections in which no process takes part')
    .description(DESCRIPTION)
    .argument(
      '[election]',
      "the election's path, as /elections/scheduler",
      checked((text) => checkPath('election', text)),
    );
  withConnection(command)
    .option('--root <path>', 'remove the elections at this path and below it; / for all', checked(checkRoot))
    .option(
      '--older-than <duration>',
      'only elections in which no term has begun or ended for this long',
      duration({ longest: YEARS_MS }),
      0,
    )
    .option('-n, --dry-run', 'only list them, and remove nothing')
    .option('-y, --yes', 'remove them without asking')
    .addHelpText('after', MORE_HELP)
    .action(async (election: string | undefined, options: PruneOptions) => {
      if ((election === undefined) === (options.root === undefined))
        throw new UserError(EXIT.usage, 'which elections? Give the path of one, or --root.');
      const exitCode = await withSession(options, async (session) => {
        const path = session.absolute(election ?? (options.root as string));
        await withSession(withoutChroot(options), (whole) => refuseBelowGroup(whole, path));
        return await prune(session, election, options);
      });
      setExitCode(exitCode);
    });
}

function withoutChroot(options: PruneOptions): PruneOptions {
  return { ...options, connect: options.connect?.replace(/\/.*/s, '') ?? '' };
}

/** An election to remove. */
interface Candidate {
  readonly path: string;
  readonly decision: Extract<PruneDecision, { kind: 'removable' }>;
}

async function prune(session: Session, election: string | undefined, options: PruneOptions): Promise<number> {
  const found = await read(session, election, options.root);
  const readAt = session.clock.now();
  const nowMs = session.clock.date().getTime();
  const removable: Candidate[] = [];
  let inUse = 0;
  for (const nodes of found) {
    const decision = decide(nodes, { nowMs, olderThanMs: options.olderThan });
    const { path } = nodes.election;
    if (decision.kind === 'removable') removable.push({ path, decision });
    else if (election !== undefined)
      throw new UserError(EXIT.notInTime, `${printable(path)} is kept: ${printable(decision.reason)}`);
    else if (decision.why === 'candidates') inUse++;
    else printError(`${printable(path)} is kept: ${printable(decision.reason)}`);
  }
  if (removable.length === 0) {
    printError(`there is nothing to remove; ${countOf(inUse)} in use`);
    return EXIT.ok;
  }
  if (options.dryRun === true) {
    for (const each of removable) console.log(lineOf(each, nowMs));
    return EXIT.ok;
  }
  if (options.yes !== true && !(await confirm(removable, nowMs))) return EXIT.noLeader;
  const waitMs = Math.max(...removable.map(({ decision }) => decision.waitMs));
  await sleep(session.clock, Math.max(0, readAt + waitMs - session.clock.now()), session.ended);
  return await removeAll(session, removable, election !== undefined);
}

async function read(
  session: Session,
  election: string | undefined,
  root = '/',
): Promise<readonly ElectionNodes[]> {
  if (election === undefined) {
    const { elections, unreadable } = await findElections(session, root);
    for (const path of unreadable) printError(`${printable(path)} can't be read: no permission`);
    return elections;
  }
  const nodes = await readElection(session, election);
  if (nodes === undefined)
    throw new UserError(EXIT.usage, `${printable(election)} is not an election that was ever led`);
  return [nodes];
}

/** @throws UserError if there is no terminal to ask */
async function confirm(removable: readonly Candidate[], nowMs: number): Promise<boolean> {
  for (const each of removable) console.error(lineOf(each, nowMs));
  if (!process.stdin.isTTY)
    throw new UserError(
      EXIT.usage,
      `${countOf(removable.length)} would be removed: give --yes, or confirm in a terminal.`,
    );
  return await isConfirmed(`Remove ${countOf(removable.length)}?`, process.stdin, process.stderr);
}

async function removeAll(session: Session, removable: readonly Candidate[], isOne: boolean): Promise<number> {
  let exitCode: number = EXIT.ok;
  for (const { path, decision } of removable) {
    const outcome = await remove(session, decision.parts);
    if (outcome.kind === 'removed') {
      console.log(printable(path));
      continue;
    }
    printError(`${printable(path)} is kept: ${outcome.reason}`);
    if (outcome.kind === 'refused') exitCode = EXIT.refused;
    else if (isOne) exitCode = EXIT.notInTime;
  }
  return exitCode;
}

function lineOf({ path, decision: { term, changedAtMs } }: Candidate, nowMs: number): string {
  return `${printable(path)}  term ${term}  changed ${durationText(Math.max(0, nowMs - changedAtMs))} ago`;
}

function countOf(elections: number): string {
  return `${elections} election${elections === 1 ? '' : 's'}`;
}

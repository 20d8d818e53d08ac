import type { Command } from 'commander';
import { checkPath } from '../../platform/checks.js';
import { sleep } from '../../platform/time/clock.js';
import type { Session } from '../../session/session.js';
import { checked, checkRoot, duration } from '../options/arguments.js';
import { type ConnectionOptions, withConnection, withSession } from '../options/connection.js';
import { EXIT, UserError } from '../process/exit-codes.js';
import { printable, printError } from '../process/output.js';
import { isConfirmed } from '../process/terminal.js';
import { prunableElections } from '../prune/prunable-elections.js';
import { prunableLocks } from '../prune/prunable-locks.js';
import { refuseBelowElection, refuseBelowGroup } from '../prune/refuse-inside-groups-and-elections.js';
import { type PruneTarget, remove, type Where } from '../prune/removal.js';

interface PruneOptions extends ConnectionOptions {
  readonly root?: string;
  readonly locks?: boolean;
  readonly olderThan: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const YEARS_MS = 100 * 365 * 86_400_000;

const DESCRIPTION = `Removes elections in which no process takes part: one election, or with --root all at a path and below it. With \
--locks it removes the paths of locks that no process uses. Lists them, and asks first.

It removes an election that was led or has seats, if the election has no candidates and no nodes of other kinds below it. It removes the \
records of the seats as well and, if no job ran for an hour, the run log of its jobs. If a candidate joins meanwhile, the \
election stays. If a leader ended uncleanly, the command first waits until the lease is over, as a candidate would.

It never removes elections with candidates, elections that were never led, groups of shards and anything below them, the nodes above, or \
nodes that other clients have written. Without --locks it removes no locks and semaphores. A path below a group of shards is refused.

If you use a removed election again, it begins with term 1. Its fencing tokens go on rising: they are transaction numbers of the servers. \
Stop the processes of an election before you prune it: a process that hangs while it joins doesn't notice that the election was \
removed and created again.

With --locks the command removes persistent nodes without children, below which children have come and gone, if they have no data or the \
number of a semaphore's seats. It keeps a semaphore whose number of seats was changed by resize. It removes nothing of elections, and not \
the root itself. Processes may go on using a removed lock, also meanwhile: the servers refuse to remove the path while there is a \
contender, and the next contender creates it again. Tokens keep rising.

An empty folder of another application looks like the path of a lock. So give a root below which there are only locks, and look at the \
list first. Don't remove paths that kazoo's clients use: a kazoo Lock object that was used before doesn't create its path again.`;

const MORE_HELP = `
Durations: 500ms, 30s, 2m, 1h, 30d. The age of an election is the difference
between the servers' clock at its last change and this machine's clock now. The
servers don't record when a lock was last used: --locks takes no --older-than.

Prints a line for each path that it has removed, or with --dry-run for each that
it would remove. Exits with 0 if it has removed them or there are none, 1 if you
answered no, 64 if the command line is wrong, if there is no such election or lock,
if the path is below a group of shards or, with --locks, below an election, or if
there is neither a terminal to ask nor --yes, 69 if it reached no server, 75 if it
can't now remove the path that you named, 77 if the servers refuse.

Examples:
  conclave prune --root /elections -c zk1:2181 --older-than 30d
  conclave prune /elections/report-2019 --yes
  conclave prune --locks --root /locks/orders --dry-run`;

/** `conclave prune`: removes elections that no process takes part in, and paths of locks that no process uses. */
export function addPrune(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('prune')
    .summary('remove elections and locks that no process uses')
    .description(DESCRIPTION)
    .argument(
      '[path]',
      'the path of an election or, with --locks, of a lock, as /elections/scheduler',
      checked((text) => checkPath('path', text)),
    );
  withConnection(command)
    .option(
      '--root <path>',
      'remove the elections at this path and below it; / for all. With --locks: the locks below it',
      checked(checkRoot),
    )
    .option('--locks', 'remove the paths of locks and semaphores, in place of elections')
    .option(
      '--older-than <duration>',
      'only elections in which no term has begun or ended for this long',
      duration({ longest: YEARS_MS }),
      0,
    )
    .option('-n, --dry-run', 'only list them, and remove nothing')
    .option('-y, --yes', 'remove them without asking')
    .addHelpText('after', MORE_HELP)
    .action(async (path: string | undefined, options: PruneOptions) => {
      const where = whereOf(path, options);
      const exitCode = await withSession(options, async (session) => {
        const target = session.absolute('path' in where ? where.path : where.root);
        if (options.locks === true && target === '/') throw new UserError(EXIT.usage, NO_WHOLE_SERVER);
        await withSession(withoutChroot(options), async (whole) => {
          await refuseBelowGroup(whole, target);
          if (options.locks === true) await refuseBelowElection(whole, target);
        });
        return await prune(session, where, options);
      });
      setExitCode(exitCode);
    });
}

const NO_WHOLE_SERVER =
  '--locks takes no --root /: an empty folder of another application looks like the path of a lock that nobody uses. Give the path below which your locks are.';

/** @throws UserError if the command line says too little or too much */
function whereOf(path: string | undefined, { root, locks, olderThan }: PruneOptions): Where {
  const which = locks === true ? 'which locks' : 'which elections';
  if (locks === true && olderThan > 0)
    throw new UserError(
      EXIT.usage,
      "--locks takes no --older-than: the servers don't record when a lock was last used.",
    );
  if (path !== undefined && root === undefined) return { path };
  if (path === undefined && root !== undefined) return { root };
  throw new UserError(EXIT.usage, `${which}? Give the path of one, or --root.`);
}

function withoutChroot(options: PruneOptions): PruneOptions {
  return { ...options, connect: options.connect?.replace(/\/.*/s, '') ?? '' };
}

async function prune(session: Session, where: Where, options: PruneOptions): Promise<number> {
  const noun = options.locks === true ? 'lock' : 'election';
  const countOf = (number: number) => `${number} ${noun}${number === 1 ? '' : 's'}`;
  const { removable, inUse } =
    options.locks === true
      ? await prunableLocks(session, where)
      : await prunableElections(session, where, options.olderThan);
  const readAt = session.clock.now(); // Not before: a lease that was renewed meanwhile is waited out, too.
  if (removable.length === 0) {
    printError(`there is nothing to remove; ${countOf(inUse)} in use`);
    return EXIT.ok;
  }
  if (options.dryRun === true) {
    for (const each of removable) console.log(lineOf(each));
    return EXIT.ok;
  }
  if (options.yes !== true && !(await confirm(removable, countOf(removable.length)))) return EXIT.noLeader;
  const waitMs = removable.reduce((longest, each) => Math.max(longest, each.waitMs), 0);
  await sleep(session.clock, Math.max(0, readAt + waitMs - session.clock.now()), session.ended);
  return await removeAll(session, removable, 'path' in where);
}

/** @throws UserError if there is no terminal to ask */
async function confirm(removable: readonly PruneTarget[], count: string): Promise<boolean> {
  for (const each of removable) console.error(lineOf(each));
  if (!process.stdin.isTTY)
    throw new UserError(EXIT.usage, `${count} would be removed: give --yes, or confirm in a terminal.`);
  return await isConfirmed(`Remove ${count}?`, process.stdin, process.stderr);
}

async function removeAll(
  session: Session,
  removable: readonly PruneTarget[],
  isOne: boolean,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  for (const { path, parts } of removable) {
    const outcome = await remove(session, parts);
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

function lineOf({ path, description }: PruneTarget): string {
  return `${printable(path)}  ${description}`;
}

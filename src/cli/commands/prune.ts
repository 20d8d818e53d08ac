import type { Command } from 'commander';
import { sleep } from '../../platform/time/clock.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { checked, checkRoot, duration } from '../options/argument-parsers.js';
import { type ConnectionOptions, withConnection, withSession } from '../options/connection-options.js';
import { EXIT, UserError } from '../process/exit-codes.js';
import { counted, print, printError } from '../process/output.js';
import { prunableElections } from '../prune/prunable-elections.js';
import { prunableLocks } from '../prune/prunable-locks.js';
import { refuseBelow } from '../prune/refuse-inside-groups-and-elections.js';
import { remove } from '../prune/remove-nodes.js';

interface PruneOptions extends ConnectionOptions {
  readonly locks?: boolean;
  readonly olderThan: number;
  readonly yes?: boolean;
}

const YEARS_MS = 100 * 365 * 86_400_000;

const DESCRIPTION = `Lists the elections at a path and below it in which no process takes part, and with --yes removes them. With \
--locks it does the same with the paths of locks that no process uses.

It removes an election that was led, if the election has no candidates and no nodes of other kinds below it. It removes the \
run log of its jobs as well, if no job ran for an hour. If a candidate joins meanwhile, the \
election stays. If a leader ended uncleanly, the command first waits until the lease is over, as a candidate would.

It never removes elections with candidates, elections that were never led, groups of shards and anything below them, the nodes above, or \
nodes that other clients have written. Without --locks it removes no locks and semaphores. A path below a group of shards is refused.

If you use a removed election again, it begins with term 1. Its fencing tokens go on rising: they are transaction numbers of the servers. \
Stop the processes of an election before you prune it: a process that hangs while it joins doesn't notice that the election was \
removed and created again.

With --locks the command removes persistent nodes without children, below which children have come and gone, if they have no data or the \
number of a semaphore's seats. It keeps a semaphore whose number of seats was changed by resize. It removes nothing of elections, and not \
the path itself. Processes may go on using a removed lock, also meanwhile: the servers refuse to remove its path while there is a \
contender, and the next contender creates it again. Tokens keep rising.

An empty folder of another application looks like the path of a lock. So give a path below which there are only locks, and look at the \
list before you give --yes. Don't remove paths that kazoo's clients use: a kazoo Lock object that was used before doesn't create its path \
again.`;

const MORE_HELP = `
Durations: 500ms, 30s, 2m, 1h, 30d. The age of an election is the difference
between the servers' clock at its last change and this machine's clock now. The
servers don't record when a lock was last used: --locks takes no --older-than.

Prints a line for each path that it would remove, or with --yes for each that it
has removed. Exits with 0 even if there are none, 64 if the command line is wrong
or the path is below a group of shards or, with --locks, below an election, 69 if
it reached no server, 75 if the election at the path itself is kept, 77 if the
servers refuse.

Examples:
  conclave prune /elections -c zk1:2181 --older-than 30d
  conclave prune /elections/report-2019 --yes
  conclave prune /locks/orders --locks`;

/** `conclave prune`: removes elections that no process takes part in, and paths of locks that no process uses. */
export function addPrune(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('prune')
    .summary('remove elections and locks that no process uses')
    .description(DESCRIPTION)
    .argument('<path>', 'look at this path and below it, as /elections; / for all', checked(checkRoot));
  withConnection(command)
    .option('--locks', 'remove the paths of locks and semaphores, in place of elections')
    .option(
      '--older-than <duration>',
      'only elections in which no term has begun or ended for this long',
      duration({ longest: YEARS_MS }),
      0,
    )
    .option('-y, --yes', 'remove them (default: only list them)')
    .addHelpText('after', MORE_HELP)
    .action(async (path: string, options: PruneOptions) => {
      if (options.locks === true && options.olderThan > 0) throw new UserError(EXIT.usage, NO_AGE_OF_LOCKS);
      const exitCode = await withSession(options, async (session) => {
        const target = session.absolute(path);
        if (options.locks === true && target === '/') throw new UserError(EXIT.usage, NO_WHOLE_SERVER);
        await withSession(withoutChroot(options), (whole) =>
          refuseBelow(whole, target, options.locks === true ? ['group', 'election'] : ['group']),
        );
        return await prune(session, path, options);
      });
      setExitCode(exitCode);
    });
}

const NO_AGE_OF_LOCKS = "--locks takes no --older-than: the servers don't record when a lock was last used.";

const NO_WHOLE_SERVER =
  '--locks takes no path /: an empty folder of another application looks like the path of a lock that nobody uses. Give the path below which your locks are.';

function withoutChroot(options: PruneOptions): PruneOptions {
  return { ...options, connect: options.connect?.replace(/\/.*/s, '') ?? '' };
}

async function prune(session: Session, path: string, options: PruneOptions): Promise<number> {
  const noun = options.locks === true ? 'lock' : 'election';
  const { found, unreadable } =
    options.locks === true
      ? await prunableLocks(session, path)
      : await prunableElections(session, path, options.olderThan);
  const readAt = session.clock.now(); // Not before: a lease that was renewed meanwhile is waited out, too.
  const removable = found.filter((each) => each.kind === 'removable');
  const kept = found.filter((each) => each.kind === 'kept');
  for (const each of unreadable) printError(`${each} can't be read: no permission`);
  // Those in use are no news, but for the one that the user has named.
  for (const each of kept)
    if (each.why !== 'in-use' || each.path === path) printError(`${each.path} is kept: ${each.reason}`);
  const keptCode = kept.some((each) => each.path === path) ? EXIT.notInTime : EXIT.ok;
  const exitCode = unreadable.includes(path) ? EXIT.refused : keptCode;
  if (removable.length === 0) {
    const inUse = kept.filter(({ why }) => why === 'in-use').length;
    printError(`there is nothing to remove; ${counted(inUse, noun)} in use`);
    return exitCode;
  }
  if (options.yes !== true) {
    for (const each of removable) print(`${each.path}  ${each.description}`);
    printError(`${counted(removable.length, noun)} would be removed: give --yes`);
    return exitCode;
  }
  const waitMs = removable.reduce((most, each) => Math.max(most, each.waitMs), 0);
  await sleep(session.clock, Math.max(0, readAt + waitMs - session.clock.now()), session.ended);
  return Math.max(exitCode, await removeAll(session, removable, path));
}

async function removeAll(
  session: Session,
  removable: readonly { readonly path: string; readonly parts: readonly TransactionPart[] }[],
  named: string,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  for (const { path, parts } of removable) {
    const outcome = await remove(session, parts);
    if (outcome.kind === 'removed') {
      print(path);
      continue;
    }
    printError(`${path} is kept: ${outcome.reason}`);
    if (outcome.kind === 'refused') exitCode = EXIT.refused;
    else if (path === named) exitCode = EXIT.notInTime;
  }
  return exitCode;
}

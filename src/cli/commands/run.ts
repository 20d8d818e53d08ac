import type { Command } from 'commander';
import { campaignThenRun } from '../lead-then-run/lead-then-run.js';
import { CommandWork } from '../lead-then-run/leader-command.js';
import { type CandidateArguments, withCandidacy } from '../options/candidate-options.js';
import { DURATIONS, targetOf } from '../options/connection-options.js';
import { checkCommand, checkPosix } from '../process/find-command-in-path.js';

interface RunOptions extends CandidateArguments {
  readonly restart?: boolean;
}

const DESCRIPTION = `Runs a command only while this process leads an election. One candidate at a time runs its \
command.

Waits in the queue, and starts the command when elected: without a shell, in its own process session, with this process's \
standard input, output and error. It passes no other open files to the command: redirect inside the command (sh -c 'exec ./work 3<file'). When leadership is lost, Conclave sends SIGTERM to the command and its descendants and, \
before the next leader may act, SIGKILL. It does so even if this process is stopped, killed or cut off. It gives \
leadership back when all of them are gone. It doesn't end a process that starts another process session, as daemons do.

SIGINT, SIGTERM and SIGQUIT go to the command and end it, with SIGKILL when the time of --grace is over. SIGHUP, SIGUSR1, SIGUSR2 and \
SIGWINCH only go to the command. While this process waits in the queue, it leaves on SIGINT, SIGTERM, SIGQUIT or \
SIGHUP.`;

const MORE_HELP = `
${DURATIONS}

The command finds in its environment:
  CONCLAVE_ELECTION  the election's path
  CONCLAVE_ID        the id of this candidate
  CONCLAVE_TERM      the number of its term; it rises with each term
  CONCLAVE_TOKEN     the term's fencing token, higher than any before it
  CONCLAVE_KEEPER    identifies the command to Conclave; don't change it
CONCLAVE_AUTH and CONCLAVE_SASL aren't there: the credentials are not for the command.

Exits with the command's exit code, or with 128 + n if signal n ended the command,
or ended this process while it waited in the queue. Otherwise it exits with
  64   the command line is wrong
  69   it reached no server at the start
  71   the system refuses to start the command, or its keeper can't start
  75   it was not elected in time (--wait-timeout, --no-wait)
  76   it lost leadership and ended the command (not with --restart)
  77   the servers refuse a request: wrong credentials, or no permission
  126  the command can't be executed
  127  there is no such command

Examples:
  conclave run /elections/scheduler -c zk1:2181,zk2:2181 -- node scheduler.mjs
  ZOOKEEPER=zk1:2181 conclave run /jobs/report --no-wait -- ./report.sh --daily
  conclave run /consumers/orders --restart --grace 30s -- ./consume orders`;

/** `conclave run`: runs a command only while this process leads. */
export function addRun(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('run')
    .usage('<election> [options] -- <command> [args...]')
    .summary('run a command only while this process leads')
    .description(DESCRIPTION);
  withCandidacy(command)
    .option('--restart', 'campaign again when the command has ended, or leadership was lost')
    .addHelpText('after', MORE_HELP)
    .action(async (election: string, [name = '', ...args]: string[], options: RunOptions) => {
      setExitCode(await run(election, name, args, options));
    });
}

async function run(election: string, name: string, args: string[], options: RunOptions): Promise<number> {
  checkPosix('run');
  const target = targetOf(options);
  checkCommand(name);
  const { grace: graceMs, restart = false } = options;
  const work = new CommandWork({ command: name, args, election, graceMs, restart, target });
  return await campaignThenRun(election, target, options, work);
}

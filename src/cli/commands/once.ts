import type { Command } from 'commander';
import { runLogOf } from '../../jobs/run-log.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import { campaignThenRun } from '../lead-then-run/lead-then-run.js';
import { type OnceFiring, OnceWork, RunRecord } from '../lead-then-run/once-firing.js';
import { durationOption } from '../options/argument-parsers.js';
import { type CandidateArguments, withCandidacy } from '../options/candidate-options.js';
import { DURATIONS, targetOf, withSession } from '../options/connection-options.js';
import { EXIT } from '../process/exit-codes.js';
import { checkCommand, checkPosix } from '../process/find-command-in-path.js';
import { printError } from '../process/output.js';

const { clock } = systemEnvironment;

interface OnceOptions extends CandidateArguments {
  readonly every: number;
}

const DESCRIPTION = `Runs a command once for each time of a schedule, on one of several machines. Put the same line into the crontab of each machine.

Runs the command unless a run was begun less than half of --every ago, or later, by this machine's clock at the start of this process. \
Otherwise it exits with 0 and prints nothing. If another machine leads, it waits for half of --every, or for --wait-timeout. It ends as soon as \
another machine has begun. The command is started and ended as by conclave run.

Each time has exactly one run as long as the clocks and the start delays of the machines differ by less than half of --every, and the machine that runs \
the command isn't lost. If the command still runs half a period after the next time, that time has no run, and the other processes exit with 75.`;

const MORE_HELP = `
${DURATIONS}

The command's environment, and the exit codes, are those of conclave run
(conclave help run). In short: the command's exit code, or 0 if another machine
has begun, or
  75   it was not elected in time, because a command still runs
  76   it lost leadership

Example, in the crontab of each machine:
  0 * * * *  conclave once /jobs/report --every 1h -c zk1:2181,zk2:2181 -- /usr/local/bin/report`;

/** `conclave once`: runs a command once per firing of a crontab line that each machine has. */
export function addOnce(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('once')
    .usage('<election> --every <duration> [options] -- <command> [args...]')
    .summary("run a command once for each time of cron's, on one of several machines")
    .description(DESCRIPTION);
  const every = "the schedule's shortest period, the same on each machine";
  command.addOption(
    durationOption('--every <duration>', every, undefined, { least: 1000 }).makeOptionMandatory(),
  );
  withCandidacy(command)
    .addHelpText('after', MORE_HELP)
    .action(async (election: string, [name = '', ...args]: string[], options: OnceOptions) => {
      setExitCode(await once(election, name, args, options));
    });
}

async function once(election: string, name: string, args: string[], options: OnceOptions): Promise<number> {
  checkPosix('once');
  const { grace: graceMs, every: everyMs, verbose = false } = options;
  const startedAt = Math.round(clock.date().getTime() - process.uptime() * 1000);
  const firing: OnceFiring = { log: runLogOf(election), at: startedAt, everyMs };
  checkCommand(name);
  const target = targetOf(options);
  // A session of its own reads the record before the candidate joins. So a machine that comes late causes no term.
  return await withSession(options, async (session) => {
    const record = new RunRecord(session, firing);
    try {
      const done = await record.first;
      if (done !== undefined) {
        if (verbose) printError(done);
        return EXIT.ok;
      }
      const line = { command: name, args, election, graceMs, restart: false, target };
      const work = new OnceWork(line, firing, record, verbose);
      const waitTimeout = options.waitTimeout ?? everyMs / 2;
      return await campaignThenRun(election, target, { ...options, waitTimeout }, work);
    } finally {
      record.stop();
    }
  });
}

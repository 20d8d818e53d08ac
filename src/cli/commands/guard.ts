import type { Command } from 'commander';
import { SessionGuardian } from '../../cluster/dead-children/session-guardian.js';
import { endingWithParent, withFileLimitOf } from '../../cluster/run-command/command-processes.js';
import { describe } from '../../errors.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import { GuardedProgram } from '../guard/guarded-program.js';
import {
  type ConnectionOptions,
  DURATIONS,
  environmentOfProgram,
  targetOf,
  withServers,
} from '../options/connection-options.js';
import { EXIT, orUserError, UserError } from '../process/exit-codes.js';
import { checkCommand } from '../process/find-command-in-path.js';
import { printError } from '../process/output.js';

interface GuardOptions extends ConnectionOptions {
  readonly restart?: boolean;
}

const DESCRIPTION = `Runs a Node.js program, and gives back its leadership, its locks and its shards within milliseconds when it \
crashes or is killed. The program needs no code for that, only Conclave's supervisors, or registerWithGuardian.

The program runs as without this command: with the same arguments, environment, folder, standard input, output and error. Only \
CONCLAVE_SASL isn't there. It also has a channel to this process, as after fork. Start Node itself: behind a program that starts Node \
(npm, npx, tsx, or a shell without exec) the program runs, but isn't guarded.

Each signal to this process goes to the program, once: SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 to the program alone; SIGINT, \
SIGQUIT, SIGWINCH, SIGTSTP and SIGCONT to its process group, as a terminal sends them. This process ends when the program has \
ended and its sessions are cleaned up. If this process is killed, the program gets SIGTERM (Linux with util-linux); elsewhere it lives on, \
unguarded.

The program starts and runs also while no server can be reached. This process connects to the servers only when the program has died.`;

const MORE_HELP = `
${DURATIONS}

--restart starts the program again, after a pause of 0.1 to 5 seconds, unless it
has exited with 0, or after SIGTERM, SIGINT or SIGQUIT to this process, or by
another signal that this process has passed on.

Exits with the program's exit code, or with 128 + n if signal n ended the program,
or ended this process in a pause of --restart. Otherwise it exits with
  64   the command line is wrong
  69   on Windows
  71   the system refuses to start the program (not with --restart)
  126  the program can't be executed
  127  there is no such program

Examples:
  conclave guard -c zk1:2181,zk2:2181 -- node server.js
  ZOOKEEPER=zk1:2181 conclave guard --restart -- node --import tsx server.ts`;

/** `conclave guard`: runs a program with a guardian. */
export function addGuard(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('guard')
    .usage('[options] -- <program> [args...]')
    .summary('run a Node.js program, and free what it holds as soon as it has died')
    .description(DESCRIPTION)
    .argument('<program...>', 'the program to run, and its arguments')
    .passThroughOptions(); // Options behind the program's name are the program's, also without --.
  withServers(command, 'how long the clean-up after the end of the program may take')
    .option('--restart', 'start the program again when it has failed')
    .addHelpText('after', MORE_HELP)
    .action(async (words: string[], options: GuardOptions) => {
      setExitCode(await guard(words, options));
    });
}

async function guard(command: readonly string[], options: GuardOptions): Promise<number> {
  if (process.platform === 'win32')
    throw new UserError(
      EXIT.unavailable,
      'conclave guard passes signals on, which Windows does not have: use a POSIX system, or a SessionGuardian in a program of yours',
    );
  const { connect, session } = targetOf(options);
  const { auth, sasl, tls, logger, connectTimeoutMs } = session;
  const guardian = orUserError(() => new SessionGuardian({ connect, session: { auth, sasl, tls }, logger }));
  guardian.on('error', (error) => printError(describe(error)));
  checkCommand(command[0] ?? '');
  const { restart = false } = options;
  const onStarted = guardian.watch.bind(guardian);
  const env = environmentOfProgram();
  const words = [...endingWithParent('TERM'), ...withFileLimitOf(process.ppid), ...command];
  const exitCode = await new GuardedProgram({ command: words, env, restart, onStarted }).run();
  const timer = systemEnvironment.clock.after(connectTimeoutMs, () => {
    printError(
      `the clean-up has not ended within ${connectTimeoutMs} ms: what is left of the program's sessions ends by their timeouts`,
    );
    process.exit(exitCode);
  });
  await guardian.close();
  timer.clear();
  return exitCode;
}

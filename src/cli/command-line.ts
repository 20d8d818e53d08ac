import { Command, CommanderError } from 'commander';
import { printable } from '../platform/printable.js';
import { VERSION } from '../public-class/version.js';
import { addDashboard } from './commands/dashboard.js';
import { addDevServer } from './commands/dev-server.js';
import { addGuard } from './commands/guard.js';
import { addOnce } from './commands/once.js';
import { addPrune } from './commands/prune.js';
import { addResign } from './commands/resign.js';
import { addRun } from './commands/run.js';
import { addShards } from './commands/shards.js';
import { addStatus } from './commands/status.js';
import { EXIT, UserError } from './process/exit-codes.js';
import { printError } from './process/output.js';
import { checkWords } from './process/refuse-non-utf8.js';

/** Parses the end of this process's command line, behind the command's own name, and runs its subcommand. Gives the exit code. */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  try {
    checkWords(words);
    await makeProgram((code) => {
      exitCode = code;
    }).parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has printed its message. `--help` and `--version` end in an error too, of code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (!(error instanceof UserError)) throw error;
    printError(error.message);
    return error.exitCode;
  }
}

const MORE_HELP = `
Environment:
  ZOOKEEPER           the servers, unless --connect names them
  CONCLAVE_AUTH       the credentials, unless --auth gives them
  CONCLAVE_SASL       user and password for SASL, unless --sasl gives them
  CONCLAVE_LOG_LEVEL  logs to standard error: error, warn, info or debug
                      (default: silent)

Options and exit codes of a command: conclave help run. If standard output can't
be written, a command that would exit with 0 exits with 74. Messages that can't be
written to standard error are lost, without any other effect.

Examples:
  conclave dev-server &
  export ZOOKEEPER=127.0.0.1:2181
  conclave run /elections/scheduler -- node scheduler.mjs &
  conclave status --watch`;

/** In the order of the help. */
const COMMANDS = [
  addRun,
  addOnce,
  addGuard,
  addStatus,
  addResign,
  addPrune,
  addShards,
  addDashboard,
  addDevServer,
];

/** The `conclave` command. Subcommands whose exit code isn't always 0 call `setExitCode`. */
function makeProgram(setExitCode: (code: number) => void): Command {
  const program = new Command('conclave')
    .description('Leader election for clustered Node.js workers, on Apache ZooKeeper.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError('(see --help)')
    // Inherited by the subcommands that are added after them.
    .configureOutput({
      outputError: (text, write) => write(withoutValue(text).split('\n').map(printable).join('\n')),
    })
    .exitOverride()
    .enablePositionalOptions();
  for (const add of COMMANDS) add(program, setExitCode);
  return program.addHelpText('after', MORE_HELP);
}

/** Commander quotes all of an unknown option: `--atuh=digest:user:password` too, and `-adigest:user:password`. */
function withoutValue(text: string): string {
  return text.replace(/^(error: unknown option '(?:--[^=']*|-[^-']))[\s\S]*'/, "$1'");
}

import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { addDevServer } from './commands/dev-server.js';
import { addElect } from './commands/elect.js';
import { addObserve } from './commands/observe.js';
import { addResign } from './commands/resign.js';
import { addRun } from './commands/run.js';
import { addStatus } from './commands/status.js';
import { EXIT } from './exit-codes.js';
import { UserError } from './user-error.js';

/**
 * Does what the command line says.
 *
 * @param words what stands behind the command's name
 * @returns the exit code
 */
export async function runCommandLine(words: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  try {
    await conclave((code) => {
      exitCode = code;
    }).parseAsync(words, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has said what is wrong. Help and version, where they were asked for, come as errors too, of code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (!(error instanceof UserError)) throw error;
    console.error(`conclave: ${error.message}`);
    return error.exitCode;
  }
}

const MORE_HELP = `
Environment:
  ZOOKEEPER           the servers, where --connect doesn't name them
  CONCLAVE_AUTH       who this is to ZooKeeper, where --auth doesn't say
  CONCLAVE_LOG_LEVEL  logs to standard error: error, warn, info or debug
                      (default: silent)

Each command tells all about itself, and its exit codes: conclave help run

Examples:
  conclave dev-server &
  export ZOOKEEPER=127.0.0.1:2181
  conclave run /elections/scheduler -- node scheduler.mjs &
  conclave status /elections/scheduler`;

/**
 * The `conclave` command; each subcommand adds itself, from a file of its own.
 *
 * @param conclude - told the exit code by a subcommand that has more to say than that it is done
 */
function conclave(conclude: (code: number) => void): Command {
  const program = new Command('conclave')
    .description('Leader election for clustered Node.js workers, on Apache ZooKeeper.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError('(--help says what is right)')
    // A subcommand inherits these if it is added after them.
    .exitOverride()
    .enablePositionalOptions();
  addRun(program, conclude);
  addElect(program, conclude);
  addObserve(program);
  addStatus(program, conclude);
  addResign(program, conclude);
  addDevServer(program);
  return program.addHelpText('after', MORE_HELP);
}

function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return version;
}

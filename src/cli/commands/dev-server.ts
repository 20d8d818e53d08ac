import { type Command, Option } from 'commander';
import { DIALECTS } from '../../testing/dialect.js';
import { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from '../../testing/index.js';
import { EXIT } from '../exit-codes.js';
import { wholeNumber } from '../options/arguments.js';
import { untilSignal } from '../until-signal.js';
import { UserError } from '../user-error.js';

type DevServerOptions = Required<Pick<EmbeddedZooKeeperOptions, 'host' | 'port' | 'tickMs' | 'dialect'>>;

const LAST_PORT = 65_535;
const LONGEST_TICK_MS = 60_000;

// Commander breaks its lines.
const DESCRIPTION = `Starts a ZooKeeper server for development: one server, in memory, for this machine alone. \
Whatever speaks ZooKeeper speaks to it, in any language. It needs no Java, and starts at once. Never for production: it \
keeps nothing, and asks nobody who they are.

Prints the connect string as the only line on standard output, as soon as it serves. Stops at SIGINT (Ctrl+C), SIGTERM \
or SIGHUP.`;

// And leaves these as they are.
const MORE_HELP = `
Exits with 0 when it was told to stop, 64 if the command line is wrong, 69 if
the port is not to be had.

Example:
  conclave dev-server --port 2181 &
  ZOOKEEPER=127.0.0.1:2181 node scheduler.mjs`;

/** `conclave dev-server`: the embedded ZooKeeper, for whoever develops without a real one. */
export function addDevServer(program: Command): void {
  program
    .command('dev-server')
    .summary('start a ZooKeeper server for development')
    .description(DESCRIPTION)
    .addOption(
      new Option('-p, --port <number>', 'where it listens; 0 for any port that is free')
        .default(2181)
        .argParser(wholeNumber(0, LAST_PORT)),
    )
    .addOption(
      new Option('--host <address>', 'the address on this machine')
        .choices(['127.0.0.1', '::1', 'localhost'])
        .default('127.0.0.1'),
    )
    .addOption(
      new Option(
        '--tick-ms <milliseconds>',
        "ZooKeeper's tickTime: sessions end at multiples of it, and their timeouts are from 2 to 20 of it",
      )
        .default(500)
        .argParser(wholeNumber(1, LONGEST_TICK_MS)),
    )
    .addOption(
      new Option('--dialect <release>', 'as which release of ZooKeeper it answers')
        .choices(DIALECTS)
        .default('3.8'),
    )
    .addHelpText('after', MORE_HELP)
    .action(serve);
}

async function serve(options: DevServerOptions): Promise<void> {
  const told = untilSignal();
  const server = await start(options);
  console.log(server.connectString);
  await told;
  await server.stop();
}

async function start(options: DevServerOptions): Promise<EmbeddedZooKeeper> {
  try {
    return await EmbeddedZooKeeper.start(options);
  } catch (cause) {
    throw unavailable(cause as NodeJS.ErrnoException, options);
  }
}

function unavailable(cause: NodeJS.ErrnoException, { host, port }: DevServerOptions): Error {
  const because: Record<string, string> = {
    EADDRINUSE: 'is taken. Another is given with --port, any that is free with --port 0.',
    EACCES:
      "is not for this user to listen to. One over 1023 is given with --port, any that's free with --port 0.",
    EADDRNOTAVAIL: 'is not to be had: this machine does not have the address. Another is given with --host.',
  };
  const why = because[cause.code ?? ''];
  if (why === undefined) return cause;
  return new UserError(EXIT.unavailable, `port ${port} of ${host} ${why}`, { cause });
}

import { type Command, Option } from 'commander';
import { standardErrorLogger } from '../../platform/logging/logger.js';
import { SystemClock } from '../../platform/time/clock.js';
import { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from '../../testing/index.js';
import { DIALECTS } from '../../testing/state/dialects.js';
import { portOption, wholeNumber } from '../options/argument-parsers.js';
import { asListenError } from '../process/exit-codes.js';
import { print, printError } from '../process/output.js';
import { untilSignal } from '../process/stop-signals.js';

/** What the command line gives. */
type DevServerOptions = Required<Pick<EmbeddedZooKeeperOptions, 'host' | 'port' | 'tickMs' | 'dialect'>>;

const BEGINNING = Date.UTC(2026);
const TRANSACTIONS_PER_MS = 128; // More than it can carry out.
const LONGEST_TICK_MS = 60_000;

// Commander wraps these lines.
const DESCRIPTION = `Starts a ZooKeeper server for development: a single server, in memory, for this machine only. ZooKeeper \
clients of any language can use it. It needs no Java, and starts at once. Never use it in production: it keeps no data on disk, \
and every local user may connect.

Prints the connect string as the only line on standard output, as soon as it accepts connections. Stops on SIGINT (Ctrl+C), SIGTERM \
or SIGHUP.`;

// And prints these as they are.
const MORE_HELP = `
Exits with 0 after a signal has stopped it, 64 if the command line is wrong, 69
if the port isn't available.

Example:
  conclave dev-server --port 2181 &
  ZOOKEEPER=127.0.0.1:2181 node scheduler.mjs`;

/** `conclave dev-server`: the embedded ZooKeeper, for development without a real one. */
export function addDevServer(program: Command): void {
  program
    .command('dev-server')
    .summary('start a ZooKeeper server for development')
    .description(DESCRIPTION)
    .addOption(portOption(2181))
    .addOption(
      new Option('--host <address>', 'local address to listen on')
        .choices(['127.0.0.1', '::1', 'localhost'])
        .default('127.0.0.1'),
    )
    .option(
      '--tick-ms <milliseconds>',
      "ZooKeeper's tickTime: the server ends sessions at multiples of it, and grants timeouts of 2 to 20 ticks",
      wholeNumber(1, LONGEST_TICK_MS),
      500,
    )
    .addOption(
      new Option(
        '--dialect <release>',
        'the release of ZooKeeper that the server behaves like, or ClickHouse Keeper',
      )
        .choices(DIALECTS)
        .default('3.8'),
    )
    .addHelpText('after', MORE_HELP)
    .action(serve);
}

async function serve(options: DevServerOptions): Promise<void> {
  const stopped = untilSignal();
  const server = await EmbeddedZooKeeper.start({
    ...options,
    logger: standardErrorLogger(),
    firstZxid: zxidAt(new SystemClock().date()),
  }).catch((cause) => {
    throw asListenError(cause, options);
  });
  printError('this server is for tests and demos only: in memory, and open to every user of this machine');
  print(server.connectString);
  await stopped;
  await server.stop();
}

/**
 * A number above those of all transactions of servers that were started before `now`. So fencing tokens rise from one start to the next,
 * and a database that has seen former ones takes new ones. In JSON and in JavaScript such a number is exact, for it is below 2 ** 53.
 */
function zxidAt(now: Date): bigint {
  return BigInt(Math.max(0, now.getTime() - BEGINNING) * TRANSACTIONS_PER_MS);
}

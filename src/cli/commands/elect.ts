import type { Command } from 'commander';
import { onAbort } from '../../platform/async/lazy-abort.js';
import { deferred } from '../../platform/async/promises.js';
import { campaign, type Leadership, type LeaderWork, printError } from '../campaign.js';
import { EXIT } from '../exit-codes.js';
import { withElection } from '../options/arguments.js';
import { type CandidacyOptions, withCandidacy } from '../options/candidacy.js';
import { type ConnectionOptions, DURATIONS, targetOf, withConnection } from '../options/connection.js';
import { printable } from '../output.js';
import { UserError } from '../user-error.js';

interface ElectOptions extends ConnectionOptions, CandidacyOptions {
  readonly json?: boolean;
}

const DESCRIPTION = `Stands in an election, and leads until it is told to stop: by SIGINT (Ctrl+C), SIGTERM, SIGQUIT or SIGHUP. \
Then it gives leadership back.

Prints one line on standard output when it is elected: what it calls itself, with several seats which one is its own, \
the term's number and its fencing token. \
Whatever reads the line must not take it for a proof: leadership may be lost at any time after it. To have a command \
run only while it leads, there is conclave run.`;

const MORE_HELP = `
${DURATIONS}

Exits with 0 when it has led until it was told to stop, 64 if the command line
is wrong, 69 if no server could be reached at the start, 75 if it was not
elected in time (--wait-timeout, --no-wait), 76 if leadership was lost, 77 if
the servers refuse; with 128 + n at signal n while it waited in the queue.

Examples:
  conclave elect /elections/scheduler -c zk1:2181,zk2:2181
  conclave elect /elections/primary "$(hostname):5432" --json`;

/** `conclave elect`: leads until it is told to stop. */
export function addElect(program: Command, conclude: (code: number) => void): void {
  const command = program
    .command('elect')
    .summary('stand in an election, and lead until told to stop')
    .description(DESCRIPTION);
  withElection(command).argument('[data]', 'what the others see of it, as with --data');
  withConnection(command);
  withCandidacy(command)
    .option('--json', 'print the line as JSON: id, seat if there are several, term, token')
    .addHelpText('after', MORE_HELP)
    .action(async (election: string, data: string | undefined, options: ElectOptions) => {
      if (data !== undefined && options.data !== undefined)
        throw new UserError(EXIT.usage, 'the data are given twice: as an argument and with --data.');
      const candidacy = { ...options, ...(data !== undefined && { data }) };
      conclude(await campaign(election, targetOf(options), candidacy, new Seat(options)));
    });
}

/** Leads, and does nothing else. */
class Seat implements LeaderWork {
  readonly signals = [];
  readonly #options: ElectOptions;
  readonly #told = deferred<number>();

  constructor(options: ElectOptions) {
    this.#options = options;
  }

  async lead({ term, id }: Leadership): Promise<number> {
    const { json = false, seats = 1 } = this.#options;
    const seat = seats > 1 ? { seat: term.seat } : {};
    const facts = { ...seat, term: term.number, token: String(term.token) };
    const words = Object.entries(facts).flat();
    console.log(json ? JSON.stringify({ id, ...facts }) : [printable(id), ...words].join(' '));
    const forget = onAbort(term.signal, () => {
      printError('leadership lost');
      this.#told.resolve(EXIT.lost);
    });
    try {
      return await this.#told.promise;
    } finally {
      forget();
    }
  }

  signal(): void {
    this.#told.resolve(EXIT.ok);
  }

  async stepDown(): Promise<void> {
    printError('it was asked to step down');
    this.#told.resolve(EXIT.lost);
  }
}

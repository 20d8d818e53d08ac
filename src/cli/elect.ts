import type { Command } from 'commander';
import { onAbort } from '../ending.js';
import { deferred } from '../promises.js';
import { withElection } from './arguments.js';
import { type CandidacyOptions, withCandidacy } from './candidacy.js';
import { type ConnectionOptions, DURATIONS, targetOf, withConnection } from './connection.js';
import { EXIT } from './exit-codes.js';
import { printable } from './show.js';
import { complain, type Leadership, type Office, stand } from './stand.js';

interface ElectOptions extends ConnectionOptions, CandidacyOptions {
  readonly json?: boolean;
}

const DESCRIPTION = `Stands in an election, and leads until it is told to stop: by SIGINT (Ctrl+C), SIGTERM, SIGQUIT or SIGHUP. \
Then it gives leadership back.

Prints one line on standard output when it is elected: what it calls itself, the term's number and its fencing token. \
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
  withElection(command).argument('[data]', 'what the others see of it');
  withConnection(command);
  withCandidacy(command)
    .option('--json', 'print the line as JSON: id, term, token')
    .addHelpText('after', MORE_HELP)
    .action(async (election: string, data: string | undefined, options: ElectOptions) => {
      const candidacy = { ...options, ...(data !== undefined && { data }) };
      conclude(await stand(election, targetOf(options), candidacy, new Seat(options.json ?? false)));
    });
}

/** Leads, and does nothing else. */
class Seat implements Office {
  readonly signals = [];
  readonly #json: boolean;
  readonly #told = deferred<number>();

  constructor(json: boolean) {
    this.#json = json;
  }

  async lead({ term, id }: Leadership): Promise<number> {
    const [number, token] = [term.number, String(term.token)];
    console.log(
      this.#json
        ? JSON.stringify({ id, term: number, token })
        : `${printable(id)} term ${number} token ${token}`,
    );
    const forget = onAbort(term.signal, () => {
      complain('leadership lost');
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
    complain('it was asked to step down');
    this.#told.resolve(EXIT.lost);
  }
}

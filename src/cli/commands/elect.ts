import type { Command } from 'commander';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import { deferred } from '../../platform/async/promises.js';
import { campaign, type Leadership, type LeaderWork } from '../lead-then-run/lead-then-run.js';
import { withElection } from '../options/arguments.js';
import { type CandidacyOptions, withCandidacy } from '../options/candidate-options.js';
import { type ConnectionOptions, DURATIONS, targetOf, withConnection } from '../options/connection.js';
import { EXIT, UserError } from '../process/exit-codes.js';
import { printable, printError } from '../process/output.js';

interface ElectOptions extends ConnectionOptions, CandidacyOptions {
  readonly json?: boolean;
}

const DESCRIPTION = `Campaigns in an election, and leads until SIGINT (Ctrl+C), SIGTERM, SIGQUIT or SIGHUP. Then it gives \
leadership back.

Prints one line on standard output when elected: the candidate's id, the term's number and its fencing token. \
The line doesn't prove leadership to the program that reads it: this process may lose leadership at any time afterwards. \
To run a command only while this process leads, use conclave run.`;

const MORE_HELP = `
${DURATIONS}

Exits with 0 if it led until a signal stopped it, 64 if the command line is
wrong, 69 if it reached no server at the start, 75 if it was not elected in time
(--wait-timeout, --no-wait), 76 if it lost leadership, 77 if the servers refuse
its requests. If signal n comes while it waits in the queue, it exits with
128 + n.

Examples:
  conclave elect /elections/scheduler -c zk1:2181,zk2:2181
  conclave elect /elections/primary "$(hostname):5432" --json`;

/** `conclave elect`: leads until a signal stops it. */
export function addElect(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('elect')
    .summary('campaign in an election, and lead until stopped')
    .description(DESCRIPTION);
  withElection(command).argument('[data]', 'text that the other processes see, as with --data');
  withConnection(command);
  withCandidacy(command)
    .option('--json', 'print the line as JSON: id, term, token')
    .addHelpText('after', MORE_HELP)
    .action(async (election: string, data: string | undefined, options: ElectOptions) => {
      if (data !== undefined && options.data !== undefined)
        throw new UserError(
          EXIT.usage,
          'the data is given twice: as an argument and with --data. Give it once.',
        );
      const candidacy = { ...options, ...(data !== undefined && { data }) };
      setExitCode(await campaign(election, targetOf(options), candidacy, new ElectWork(options)));
    });
}

/** The leader's work of `conclave elect`: prints one line, and leads until the end. */
class ElectWork implements LeaderWork {
  readonly signals = [];
  readonly #options: ElectOptions;
  readonly #exitCode = deferred<number>();

  constructor(options: ElectOptions) {
    this.#options = options;
  }

  async lead({ term, id }: Leadership): Promise<number> {
    const { json = false } = this.#options;
    const facts = { term: term.number, token: String(term.token) };
    const words = Object.entries(facts).flat();
    console.log(json ? JSON.stringify({ id, ...facts }) : [printable(id), ...words].join(' '));
    const unsubscribe = onAbort(term.signal, () => {
      printError('leadership lost');
      this.#exitCode.resolve(EXIT.lost);
    });
    try {
      return await this.#exitCode.promise;
    } finally {
      unsubscribe();
    }
  }

  onSignal(): void {
    this.#exitCode.resolve(EXIT.ok);
  }

  async stepDown(): Promise<void> {
    printError('it was asked to step down');
    this.#exitCode.resolve(EXIT.lost);
  }
}

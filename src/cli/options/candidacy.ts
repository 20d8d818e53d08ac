import { type Command, InvalidArgumentError, Option } from 'commander';
import type { InvalidOptionError } from '../../errors.js';
import { checkId } from '../../platform/checks.js';
import { duration, wholeNumber } from './arguments.js';

/** The options that `run` and `elect` have in common: how to campaign in an election. */
export interface CandidacyOptions {
  readonly id?: string;
  readonly data?: string;
  /** How many candidates lead at once, each on a seat of its own. */
  readonly seats?: number;
  readonly priority: number;
  readonly takeoverDelay?: number;
  readonly waitTimeout?: number;
  /** `false`: give up unless elected at once. */
  readonly wait: boolean;
  readonly verbose?: boolean;
}

/** Adds these options. */
export function withCandidacy(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--id <name>',
        'name of this candidate (default: host name, process id, a random part)',
      ).argParser(id),
    )
    .option('--data <text>', 'shown to the others by status and observe')
    .addOption(
      new Option(
        '--seats <number>',
        'how many candidates lead at once, each on a seat of its own; the same for all candidates of an election (default: 1)',
      ).argParser(wholeNumber(1, 10_000)),
    )
    .addOption(
      new Option('--priority <number>', 'the highest leads next, at each change of the leader')
        .default(0)
        .argParser(wholeNumber(0, 255)),
    )
    .addOption(
      new Option('--wait-timeout <duration>', 'give up unless elected for the first time by then')
        .argParser(duration())
        .conflicts('wait'),
    )
    .addOption(new Option('--no-wait', 'give up if another candidate is ahead in the queue'))
    .addOption(
      new Option(
        '--takeover-delay <duration>',
        'how long to wait after a leader that ended uncleanly (default: as long as that leader may act). With 0 a new leader starts sooner, and two may act at once: then refuse stale tokens',
      ).argParser(duration()),
    )
    .option('-v, --verbose', 'print what happens on standard error');
}

function id(text: string): string {
  try {
    return checkId('id', text) ?? text;
  } catch (error) {
    throw new InvalidArgumentError(`Expected ${(error as InvalidOptionError).expected}.`);
  }
}

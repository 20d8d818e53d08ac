import { type Command, InvalidArgumentError, Option } from 'commander';
import type { InvalidOptionError } from '../../errors.js';
import { checkId } from '../../platform/checks.js';
import { duration, wholeNumber } from './arguments.js';

/** What the options say that all commands have in common which stand in an election. */
export interface CandidacyOptions {
  readonly id?: string;
  readonly data?: string;
  /** How many lead at once, each on a seat of its own. */
  readonly seats?: number;
  readonly priority: number;
  readonly takeoverDelay?: number;
  readonly waitTimeout?: number;
  /** `false`: only if it is elected at once. */
  readonly wait: boolean;
  readonly verbose?: boolean;
}

/** Adds those options. */
export function withCandidacy(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--id <name>',
        'what it calls itself (default: host name, process id, a random part)',
      ).argParser(id),
    )
    .option('--data <text>', 'what the others see of it')
    .addOption(
      new Option(
        '--seats <number>',
        'how many lead at once, each on a seat of its own; the same for all candidates of an election (default: 1)',
      ).argParser(wholeNumber(1, 10_000)),
    )
    .addOption(
      new Option('--priority <number>', 'the highest leads next, at each change of the leader')
        .default(0)
        .argParser(wholeNumber(0, 255)),
    )
    .addOption(
      new Option('--wait-timeout <duration>', 'give up unless it was elected for the first time by then')
        .argParser(duration())
        .conflicts('wait'),
    )
    .addOption(new Option('--no-wait', 'give up if somebody is ahead in the queue'))
    .addOption(
      new Option(
        '--takeover-delay <duration>',
        'how long to wait after a leader that ended uncleanly (default: as long as it may act). 0 leads sooner, and two may act at once: then refuse stale tokens',
      ).argParser(duration()),
    )
    .option('-v, --verbose', 'say on standard error what happens');
}

function id(text: string): string {
  try {
    return checkId('id', text) ?? text;
  } catch (error) {
    throw new InvalidArgumentError(`Expected ${(error as InvalidOptionError).expected}.`);
  }
}

import type { Command } from 'commander';
import { checkId } from '../../platform/checks.js';
import { checked, duration, durationOption, wholeNumber, withElection } from './argument-parsers.js';
import { type ConnectionOptions, withConnection } from './connection-options.js';

/** The options that `run` and `once` have in common: how to campaign in an election, and how to end the command. */
export interface CandidateArguments extends ConnectionOptions {
  readonly id?: string;
  readonly data?: string;
  readonly priority: number;
  readonly takeoverDelay?: number;
  readonly waitTimeout?: number;
  readonly wait: boolean; // `false`: give up unless elected at once.
  readonly verbose?: boolean;
  readonly grace: number;
}

/** Adds these options, and the arguments: the election and the command. */
export function withCandidacy(command: Command): Command {
  withElection(command).argument('<command...>', 'the command to run, and its arguments');
  return withConnection(command)
    .option(
      '--id <name>',
      'name of this candidate (default: host name, process id, a random part)',
      checked((text) => checkId('id', text)),
    )
    .option('--data <text>', 'text that other processes see with status')
    .option(
      '--priority <number>',
      'the candidate with the highest priority leads next, at each change of the leader',
      wholeNumber(0, 255),
      0,
    )
    .addOption(
      durationOption(
        '--wait-timeout <duration>',
        'give up if not elected for the first time within this time',
      ).conflicts('wait'),
    )
    .option('--no-wait', 'give up if another candidate is ahead in the queue')
    .option(
      '--takeover-delay <duration>',
      'the shortest wait after a leader ended uncleanly (default: as long as that leader may act; Conclave always waits for that long). Give a longer time if clocks may stop, as in virtual machines that are migrated live',
      duration(),
    )
    .option('-v, --verbose', 'print what happens on standard error')
    .addOption(
      durationOption(
        '--grace <duration>',
        'how long the command may take to end after SIGTERM. If the lease runs out: a quarter of a lease at most, and never beyond the end of the lease',
        '10s',
      ),
    );
}

import { type Command, Option } from 'commander';
import { wholeNumber } from './arguments.js';

/** What the option says that those commands have in common which ask about a leader. */
export interface SeatOptions {
  readonly seat?: number;
}

export function withSeat(command: Command): Command {
  return command.addOption(
    new Option('--seat <number>', 'whose leader is meant, of an election with several seats').argParser(
      wholeNumber(0, 9999),
    ),
  );
}

/** The option, for those who take `undefined` for a value. */
export function seatOf({ seat }: SeatOptions): SeatOptions {
  return seat === undefined ? {} : { seat };
}

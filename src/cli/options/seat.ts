import { type Command, Option } from 'commander';
import { wholeNumber } from './arguments.js';

/** The option that `status`, `observe` and `resign` have in common. */
export interface SeatOptions {
  readonly seat?: number;
}

export function withSeat(command: Command): Command {
  return command.addOption(
    new Option('--seat <number>', 'the seat whose leader is meant, in an election with several').argParser(
      wholeNumber(0, 9999),
    ),
  );
}

import type { Command } from 'commander';
import { wholeNumber } from './arguments.js';

/** The option that `status`, `observe` and `resign` have in common. */
export interface SeatOptions {
  readonly seat?: number;
}

export function withSeat(command: Command): Command {
  const help = 'the seat whose leader is meant, in an election with several';
  return command.option('--seat <number>', help, wholeNumber(0, 9999));
}

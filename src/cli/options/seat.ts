import type { Command } from 'commander';
import { wholeNumber } from './arguments.js';

/** The option that `status`, `observe` and `resign` have in common. */
export interface SeatOptions {
  readonly seat?: number;
}

export function withSeat(command: Command): Command {
  const help = 'the seat to take the leader of, from 0, if the election has several seats';
  return command.option('--seat <number>', help, wholeNumber(0, 9999));
}

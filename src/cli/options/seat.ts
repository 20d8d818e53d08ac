import type { Command } from 'commander';
import { EXIT } from '../process/exit-codes.js';
import { printable } from '../process/output.js';
import { UserError } from '../process/user-error.js';
import { wholeNumber } from './arguments.js';

/** The option that `status`, `observe` and `resign` have in common. */
export interface SeatOptions {
  readonly seat?: number;
}

export function withSeat(command: Command): Command {
  const help = 'only the leader of this seat, from 0, if the election has several seats (default: all seats)';
  return command.option('--seat <number>', help, wholeNumber(0, 9999));
}

/** @throws UserError if an election with so many seats has no such seat */
export function checkSeatOf(election: string, seat: number | undefined, seats: number): void {
  if (seat === undefined || (seats > 1 && seat < seats)) return;
  const found = seats === 1 ? 'one seat: leave --seat out' : `${seats} seats: expected 0 to ${seats - 1}`;
  throw new UserError(EXIT.usage, `--seat ${seat}: ${printable(election)} has ${found}.`);
}

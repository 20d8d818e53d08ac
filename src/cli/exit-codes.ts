import { constants } from 'node:os';
import {
  AuthenticationError,
  InvalidOptionError,
  SeatsMismatchError,
  UnprotectedPathError,
  UnreadableNodeError,
} from '../errors.js';

/** What the `conclave` command itself exits with, in the numbers of BSD's sysexits.h where they have one. */
export const EXIT = {
  ok: 0,
  /** It is as asked about not: nobody leads. */
  nobody: 1,
  /** The command line is wrong. */
  usage: 64,
  /** Something that it needs can't be had, as a port that is taken, or a server. */
  unavailable: 69,
  /** The system refuses: a command can't be started. */
  system: 71,
  /** Not in time: not elected, or the leader didn't step down. */
  notInTime: 75,
  /** It led, and does no more. */
  lost: 76,
  /** The servers don't let it. */
  refused: 77,
  /** The command that is to run is there and can't be run; in a shell's number. */
  notExecutable: 126,
  /** The command that is to run isn't there; in a shell's number. */
  notFound: 127,
} as const;

/** What a shell says of a process that a signal ended. */
export function codeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** What to exit with if it is an error after which nothing can be done but to change something. */
export function codeOfError(error: unknown): number | undefined {
  if (error instanceof InvalidOptionError || error instanceof SeatsMismatchError) return EXIT.usage;
  const refusals = [AuthenticationError, UnprotectedPathError, UnreadableNodeError];
  if (refusals.some((type) => error instanceof type)) return EXIT.refused;
  return (error as { code?: unknown } | undefined)?.code === 'NO_AUTH' ? EXIT.refused : undefined;
}

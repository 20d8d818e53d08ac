import { constants } from 'node:os';
import type { CommandOutcome } from '../../cluster/run-command/keeper-handle.js';
import {
  AuthenticationError,
  describe,
  InvalidOptionError,
  NoCandidateError,
  RevocationRefusedError,
  UnprotectedPathError,
  UnreadableNodeError,
} from '../../errors.js';
import { END_SIGNALS } from './stop-signals.js';

/** The exit codes of the `conclave` command itself. They are those of BSD's sysexits.h where that has a fitting one. */
export const EXIT = {
  ok: 0,
  noLeader: 1, // The answer to the question is no: the election has no leader, say.
  usage: 64, // The command line is wrong.
  unavailable: 69, // A resource isn't available: a port is taken, or no server can be reached.
  system: 71, // The system refuses to start the command, or its keeper can't start.
  outputLost: 74, // All went well, but standard output could not be written.
  notInTime: 75, // Not in time: this process wasn't elected, or the leader didn't step down.
  lost: 76, // This process led, and lost leadership.
  refused: 77, // The servers refuse: wrong credentials, or no permission.
  notExecutable: 126, // The command to run can't be executed; a shell's number.
  notFound: 127, // There is no such command; a shell's number.
} as const;

/** The exit code that a shell reports for a process that a signal ended. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** The exit code for an error that lasts until the user changes something; `undefined` for any other error. */
export function exitCodeOfError(error: unknown): number | undefined {
  const mistakes = [InvalidOptionError, NoCandidateError];
  if (mistakes.some((type) => error instanceof type)) return EXIT.usage;
  const refusals = [AuthenticationError, UnprotectedPathError, UnreadableNodeError];
  if (refusals.some((type) => error instanceof type)) return EXIT.refused;
  return (error as { code?: unknown } | undefined)?.code === 'NO_AUTH' ? EXIT.refused : undefined;
}

/** The events while `conclave run` or `conclave guard` ran its command, besides the command's end. */
export interface CommandRun {
  readonly endSignal?: NodeJS.Signals | undefined; // The first signal by which the user asked for the end.
  readonly lossReason?: string | undefined; // Why leadership was lost, if it was.
  readonly forwarded: readonly NodeJS.Signals[]; // The signals that were forwarded to the command.
}

export function withSignal(run: CommandRun, name: NodeJS.Signals, ending = END_SIGNALS): CommandRun {
  if (ending.includes(name)) return { ...run, endSignal: run.endSignal ?? name };
  return run.forwarded.includes(name) ? run : { ...run, forwarded: [...run.forwarded, name] };
}

/**
 * The exit code of `conclave run` after its command has ended; `undefined`: campaign again. The user's signal counts
 * first, then the loss of leadership, then the end of the command itself.
 */
export function exitCodeOfRun(
  outcome: CommandOutcome,
  { endSignal, lossReason, forwarded }: CommandRun,
  restart: boolean,
): number | undefined {
  const signal = outcome.kind === 'ended' ? outcome.signal : null;
  const endedByUser = endSignal !== undefined || (signal !== null && forwarded.includes(signal));
  if (restart && !endedByUser && outcome.kind !== 'no-keeper') return undefined;
  if (endSignal === undefined && lossReason !== undefined) return EXIT.lost;
  switch (outcome.kind) {
    case 'ended':
      return outcome.signal === null ? (outcome.code ?? EXIT.system) : exitCodeOfSignal(outcome.signal);
    case 'too-late':
      return endSignal === undefined ? EXIT.lost : exitCodeOfSignal(endSignal);
    case 'refused':
    case 'no-keeper':
      return EXIT.system;
  }
}

/**
 * The exit code of `conclave guard` after its program has ended; `undefined`: start the program again. A program that ends with 0, or after
 * a signal that was passed on, was meant to end.
 */
export function exitCodeOfGuard(
  outcome: CommandOutcome,
  run: CommandRun,
  restart: boolean,
): number | undefined {
  const hasFailed = outcome.kind !== 'ended' || outcome.code !== 0;
  return exitCodeOfRun(outcome, run, restart && hasFailed);
}

/** An error that the user of the command line can mend. The command prints its message alone, without a stack. */
export class UserError extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function asUserError(error: unknown): UserError {
  if (error instanceof UserError) return error;
  const otherwise = error instanceof RevocationRefusedError ? EXIT.notInTime : EXIT.unavailable;
  return new UserError(exitCodeOfError(error) ?? otherwise, describe(error), { cause: error });
}

/** Returns the value of `make`. @throws UserError for every error that `make` throws */
export function orUserError<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw asUserError(error);
  }
}

/** The error for a server that couldn't listen. */
export function asListenError(
  cause: NodeJS.ErrnoException,
  { host, port }: { readonly host: string; readonly port: number },
): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: 'is in use. Give another one with --port, or --port 0 for any free port.',
    EACCES: 'may not be used by this user. Give one over 1023 with --port, or --port 0 for any free port.',
    EADDRNOTAVAIL: 'is not available: this machine does not have the address. Give another one with --host.',
  };
  const reason = reasons[cause.code ?? ''];
  if (reason === undefined) return cause;
  return new UserError(EXIT.unavailable, `port ${port} of ${host} ${reason}`, { cause });
}

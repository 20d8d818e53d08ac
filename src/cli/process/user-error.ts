import { describe } from '../../errors.js';
import { EXIT, exitCodeOfError } from './exit-codes.js';

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
  return new UserError(exitCodeOfError(error) ?? EXIT.unavailable, describe(error), { cause: error });
}

/** Returns the value of `make`. @throws UserError for every error that `make` throws */
export function orUserError<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw asUserError(error);
  }
}

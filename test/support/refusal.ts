import { InvalidOptionError } from '../../src/errors.js';

/** The error by which a call refuses an option. @throws what else it throws, or Error if it refuses none */
export function refusal(call: () => unknown): InvalidOptionError {
  try {
    call();
  } catch (error) {
    if (error instanceof InvalidOptionError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

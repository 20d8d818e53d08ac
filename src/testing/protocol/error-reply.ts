import { ERROR_CODES, type ErrorName } from './op-codes.js';

/**
 * Thrown when an operation can't be carried out; its code becomes the reply's error code.
 *
 * Not an `Error`: it is a normal answer, thousands of times a second, and needs no stack.
 */
export class ErrorReply {
  constructor(readonly code: number) {}
}

export function fail(name: ErrorName): never {
  throw new ErrorReply(ERROR_CODES[name]);
}

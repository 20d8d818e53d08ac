import { ERROR_CODES, type ErrorName } from './op-codes.js';

/**
 * What is thrown when an operation can't be carried out, and becomes the reply's error code.
 *
 * Not an `Error`: it is an answer like any other, thousands of times a second, and needs no stack.
 */
export class Refusal {
  constructor(readonly code: number) {}
}

export function refuse(name: ErrorName): never {
  throw new Refusal(ERROR_CODES[name]);
}

import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { currentTerm, heldIn } from '../lease/current-term.js';

/** Anything with a fencing token: a term, a shard, the hold of a lock, or an object with the token of `CONCLAVE_TOKEN`. */
export interface TokenHolder {
  /** From 0 to 2^63 - 1. */
  readonly token: bigint;
}

/**
 * Which tokens a fence takes. It belongs to one election or shard, that of the first term that used it: the tokens of another one say nothing
 * about it. A term of another one gets here when a queue that several share runs a task in the context of whichever work came before it.
 */
export class AcceptedTokens {
  readonly #resource: string;
  #of: string | undefined;

  constructor(resource: string) {
    this.#resource = resource;
  }

  /**
   * @throws InvalidOptionError for a holder without a token. InvalidStateError without a holder outside the work of a term, and for a term
   *   of another election or shard
   */
  tokenOf(given: TokenHolder | undefined): bigint {
    const holder = given === undefined ? currentTerm() : (given ?? {});
    const { token } = holder as Partial<TokenHolder>;
    if (typeof token !== 'bigint' || token < 0n || token >= 2n ** 63n)
      throw new InvalidOptionError('holder', given, 'an object with a token: a bigint from 0 to 2^63 - 1');
    const of = heldIn(holder);
    if (of !== undefined && this.#of !== undefined && of !== this.#of)
      throw new InvalidStateError(
        `the fence of ${this.#resource} belongs to ${this.#of}, and not to ${of}, whose term this is: ` +
          'give each election and shard a fence of its own, and wrap the tasks of a queue that they share in AsyncResource.bind()',
      );
    this.#of ??= of;
    return token;
  }
}

export function checkResource(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value;
  throw new InvalidOptionError(name, value, 'a text that is not empty and has no NUL');
}

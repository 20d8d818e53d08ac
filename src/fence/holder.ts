import { InvalidOptionError } from '../errors.js';
import { currentTerm } from '../lease/current-term.js';

/** Anything with a fencing token: a term, a shard, the hold of a lock, or an object with the token of `CONCLAVE_TOKEN`. */
export interface TokenHolder {
  /** From 0 to 2^63 - 1. */
  readonly token: bigint;
}

/** @throws InvalidOptionError for a holder without a token. InvalidStateError without a holder outside the work of a term */
export function tokenOf(holder: TokenHolder | undefined): bigint {
  const { token } = (holder === undefined ? currentTerm() : (holder ?? {})) as Partial<TokenHolder>;
  if (typeof token === 'bigint' && token >= 0n && token < 2n ** 63n) return token;
  throw new InvalidOptionError('holder', holder, 'an object with a token: a bigint from 0 to 2^63 - 1');
}

export function checkResource(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value;
  throw new InvalidOptionError(name, value, 'a text that is not empty and has no NUL');
}

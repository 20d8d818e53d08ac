import { createHash } from 'node:crypto';
import { InvalidOptionError, NOT_SHOWN } from '../../errors.js';
import { isCredential, OF_CREDENTIALS } from '../../platform/checks.js';
import { digestMd5 } from './digest-md5-exchange.js';
import type { SaslMechanism } from './sasl-mechanism.js';

const NAMES = ['username', 'password'] as const;

/**
 * The mechanism of a value of the option `sasl`. Errors never show the value, since it may be a password, wherever the caller put it.
 *
 * @param newNonce - gives a text that no one can guess, each time another one
 * @throws InvalidOptionError
 */
export function checkSasl(
  value: unknown,
  name: string,
  newNonce: () => string,
  hasMd5 = nodeHasMd5,
): SaslMechanism {
  const wrong = (expected: string, of = name) => new InvalidOptionError(of, NOT_SHOWN, expected);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong('{ username, password }, or a mechanism such as that of conclave/kerberos');
  if ('begin' in value) {
    if (typeof value.begin !== 'function') throw wrong('a function', `${name}.begin`);
    return value as SaslMechanism;
  }
  const { username, password } = value as Partial<Record<(typeof NAMES)[number], unknown>>;
  if (!isCredential(username)) throw wrong(`a string, ${OF_CREDENTIALS}`, `${name}.username`);
  if (!isCredential(password)) throw wrong(`a string, ${OF_CREDENTIALS}`, `${name}.password`);
  const other = Object.keys(value).find((key) => !(NAMES as readonly string[]).includes(key));
  if (other !== undefined) throw wrong('nothing beside username and password', `${name}.${other}`);
  if (!hasMd5()) throw wrong('a mechanism: DIGEST-MD5 needs MD5, which this Node refuses');
  return digestMd5({ username, password }, newNonce);
}

/** Node with FIPS hasn't. */
function nodeHasMd5(): boolean {
  try {
    createHash('md5');
    return true;
  } catch {
    return false;
  }
}

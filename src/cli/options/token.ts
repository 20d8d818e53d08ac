import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe } from '../../errors.js';
import { EXIT } from '../process/exit-codes.js';
import { UserError } from '../process/user-error.js';

const LEAST_CHARACTERS = 16;

/** The token in a file: its first line. @throws UserError if it can't be read, or is too short */
export function readToken(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UserError(EXIT.usage, `--token-file: ${describe(error)}`, { cause: error });
  }
  const token = (text.split('\n')[0] as string).trim();
  if (token.length >= LEAST_CHARACTERS) return token;
  throw new UserError(
    EXIT.usage,
    `--token-file: expected a token of at least ${LEAST_CHARACTERS} characters.`,
  );
}

/** Whether a request has the token: as a bearer token, or as the password of any user, which is what browsers ask for. */
export function showsToken(authorization: string | null, token: string): boolean {
  const [, scheme = '', value = ''] = /^(bearer|basic) +(\S+)$/i.exec(authorization?.trim() ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return isSame(value, token);
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(value, 'base64').toString('utf8')) ?? [];
  return password !== undefined && isSame(password, token);
}

/** Takes the same time for any two texts, so that the time doesn't tell where they differ. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

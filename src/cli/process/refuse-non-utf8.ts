import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { EXIT, UserError } from './exit-codes.js';

/** Node puts this in place of bytes that aren't UTF-8. It may also be part of a text. */
const REPLACED = '\uFFFD';

/**
 * Checks that Node has decoded the command line without a loss: a command would be run with other arguments than it was given. Only Linux
 * shows the bytes; elsewhere this finds nothing.
 *
 * @param words - the last words of the command line
 * @param commandLine - its bytes, as Linux shows them
 * @throws UserError if a word isn't UTF-8; it says which one, but not the word, which may be a secret
 */
export function checkWords(
  words: readonly string[],
  commandLine = () => bytesOf('/proc/self/cmdline'),
): void {
  if (!words.some((word) => word.includes(REPLACED))) return;
  const parts = partsOf(commandLine()).slice(-words.length);
  const wrong = words.findIndex((word, index) => word.includes(REPLACED) && isOther(parts[index]));
  if (wrong >= 0)
    throw new UserError(
      EXIT.usage,
      `argument ${wrong + 1} of the command line isn't UTF-8, so the command would get it changed: give all arguments in UTF-8`,
    );
}

/** The names of the environment's variables that aren't UTF-8: a command gets them changed. Only on Linux. */
export function changedVariables(
  variables: NodeJS.ProcessEnv = process.env,
  environment = () => bytesOf('/proc/self/environ'),
): string[] {
  const changed = Object.entries(variables).filter((pair) => pair.join('=').includes(REPLACED));
  if (changed.length === 0) return [];
  const broken = new Set(partsOf(environment()).filter(isOther).map(String));
  return changed.filter((pair) => broken.has(pair.join('='))).map(([name]) => name);
}

function isOther(part: Buffer | undefined): boolean {
  return part !== undefined && !isUtf8(part);
}

/** The parts of a file in which a zero byte ends each. */
function partsOf(bytes: Buffer): Buffer[] {
  const parts = bytes.toString('latin1').split('\0').slice(0, -1);
  return parts.map((part) => Buffer.from(part, 'latin1'));
}

function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0);
  }
}

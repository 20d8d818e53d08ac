import type { Candidate } from '../../election/candidates/candidate.js';
import { printOnStandardError } from '../../platform/logging/standard-error.js';

/** A candidate as `--json` prints it. Data that aren't text are in base 64. */
export function candidateJson({ id, node, position, priority, data }: Candidate): object {
  const place = { id, node, position, priority };
  if (data === undefined) return place;
  if (typeof data === 'string') return { ...place, data };
  return { ...place, base64: Buffer.from(data).toString('base64') };
}

/** A candidate as a line of text: its id, its priority if it has one, and the data that it advertises. */
export function candidateLine({
  id,
  priority,
  data,
}: Pick<Candidate, 'id' | 'priority'> & { readonly data?: Candidate['data'] }): string {
  const words = [printable(id)];
  if (priority > 0) words.push(`priority ${priority}`);
  if (data !== undefined && data.length > 0)
    words.push(typeof data === 'string' ? printable(data) : `(${data.length} bytes)`);
  return words.join('  ');
}

/** Escapes text that any other client may have written. Then it can't begin a new line, or send commands to a terminal. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`;
  });
}

// Control characters, characters that turn the direction of writing, and separators of lines.
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Prints to standard error: standard output is for the command's own output. Text that standard error doesn't take is lost. */
export function printError(message: string): void {
  printOnStandardError(`conclave: ${message}`);
}

import type { Candidate } from '../election/nodes/candidate.js';

/** A candidate as JSON shows it; data that aren't text in base 64. */
export interface ShownCandidate {
  readonly id: string;
  readonly node: string;
  readonly position: number;
  readonly data?: string;
  readonly base64?: string;
}

export function shown({ id, node, position, data }: Candidate): ShownCandidate {
  if (data === undefined) return { id, node, position };
  if (typeof data === 'string') return { id, node, position, data };
  return { id, node, position, base64: Buffer.from(data).toString('base64') };
}

/** A candidate as a line for people: what it calls itself, and what it tells. */
export function line({ id, data }: Candidate): string {
  if (data === undefined || data.length === 0) return printable(id);
  return `${printable(id)}  ${typeof data === 'string' ? printable(data) : `(${data.length} bytes)`}`;
}

/** Anybody may have written it: nothing in it shall begin a new line, or tell a terminal what to do. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`;
  });
}

// Besides control characters those that turn the direction of writing, and separators of lines.
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

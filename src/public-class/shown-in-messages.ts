import { nameOf } from './instance-brand.js';

/** Words in place of a value, for an `InvalidOptionError` about a value that it must not show. */
class Withheld {
  constructor(readonly words: string) {}
}

/** @internal In place of a value that may hold a secret. */
export const NOT_SHOWN = new Withheld('(not shown)');
/** @internal In place of the value of an option that doesn't exist. It may be a misspelt one that holds a secret. */
export const UNKNOWN_OPTION = new Withheld('an unknown option');
/** @internal In place of a text where options are expected: it may be credentials. */
export const A_TEXT = new Withheld('a string');

/** A text of one line for any thrown value. Never throws. */
export function describe(thrown: unknown): string {
  try {
    // Without quotes, because the text goes into sentences, and into logs, which add their own.
    if (typeof thrown === 'string' && thrown !== '') return inOneLine(shorten(thrown));
    const { message, name } = (thrown ?? {}) as Partial<Error>; // Test runners have errors of another realm, so it isn't asked for the class.
    if (typeof message === 'string' && message !== '') return inOneLine(message);
    return inOneLine(thrown instanceof Error ? String(name) : show(thrown));
  } catch {
    return "a value that can't be described";
  }
}

/** OpenSSL's messages end in a line break, and others have some within. They would split a line of a log. */
function inOneLine(text: string): string {
  return text.trim().replace(LINE_BREAKS, ' ');
}

const LINE_BREAKS = /\s*[\n\v\f\r\u0085\u2028\u2029]\s*/g;

/** @internal Shows a value in a message. */
export function show(value: unknown): string {
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'string') return shorten(JSON.stringify(value));
  if (typeof value !== 'object' || value === null) return String(value);
  try {
    if (value instanceof Withheld) return value.words;
    return nameOf(value) ?? (Array.isArray(value) ? showItems(value) : showNames(value));
  } catch {
    return "an object that can't be shown"; // A proxy that throws.
  }
}

function showItems(items: readonly unknown[]): string {
  const shown = items.slice(0, MOST_SHOWN).map((item) => (Array.isArray(item) ? 'an array' : show(item)));
  return shorten(`[${[...shown, ...more(items)].join(', ')}]`);
}

/** Shows the names alone. The values may be secrets: users give whole options in the wrong place, or misspell a name. */
function showNames(value: object): string {
  const names = Object.keys(value);
  const type = Object.getPrototypeOf(value)?.constructor?.name;
  const what =
    typeof type !== 'string' || type === 'Object' || type === ''
      ? 'an object'
      : `an object of the class ${type}`;
  if (names.length === 0 || ArrayBuffer.isView(value)) return what;
  return shorten(`${what} with ${[...names.slice(0, MOST_SHOWN), ...more(names)].join(', ')}`);
}

function more({ length }: readonly unknown[]): string[] {
  return length > MOST_SHOWN ? [`${length - MOST_SHOWN} more`] : [];
}

const MOST_SHOWN = 20; // Of an array's items, or an object's names.

function shorten(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 200)}… (${text.length} characters)`;
}

import { adviceOnCopies, isInstanceInAnyCopy, mark, nameOf } from './public-class/instance-brand.js';
import { forJson } from './public-class/shown-in-console.js';
import type { DemotionReason, ShardEndReason } from './term-end-reasons.js';

// What `errors.ts` and the light entry `conclave/held-term` have in common. Import from `errors.ts` where the light entry isn't concerned.

/**
 * The base of every error that Conclave creates. Tell them apart by class or by `code`, never by message. `instanceof` also
 * holds for errors of another copy of Conclave in the same process, if both copies have the class.
 *
 * Two kinds of value may reject a promise although they aren't such errors: the `reason` of a signal that the caller aborted,
 * and the value that the caller's own `lead` or clean-up hook threw (as a `cause`).
 */
export abstract class ConclaveError extends Error {
  /** A stable name in capitals, for logs and for code that can't compare classes. */
  abstract readonly code: string;
  /** Whether the same call may succeed later although you change nothing. It doesn't say whether repeating the call is safe. */
  readonly retryable: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** @internal The value that `JSON.stringify` shows. */
  toJSON(): object {
    return { message: this.message, ...forJson(this) };
  }

  /** @internal */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: of the class that is asked for, which inherits this
    return isInstanceInAnyCopy(this, value);
  }
}

/**
 * An option, path or connect string is wrong. Conclave throws it at once, before it sends anything.
 *
 * Errors are logged, so this one has no credentials in it. It neither shows nor keeps the value of an option that Conclave doesn't know, or
 * anything given as `auth`, `sasl` or `tls`. Of an object it has the names of the properties, and never their values.
 */
export class InvalidOptionError extends ConclaveError {
  readonly code = 'INVALID_OPTION';
  /** The given value. For an object, and for a value that may hold a secret, it is what the message says of it. */
  readonly value: unknown;

  /**
   * @param option - the option's name, as the caller would write it: `session.leaseMs`
   * @param value - the given value. The message shows it, so never pass a credential
   * @param expected - a right value in words, to follow "expected"
   */
  constructor(
    readonly option: string,
    value: unknown,
    readonly expected: string,
  ) {
    super(`${option} is ${show(value)}: expected ${expected}${adviceOnCopies(value)}`);
    this.value = typeof value === 'object' && value !== null ? show(value) : value;
  }
}

/** Words in place of a value, for an {@link InvalidOptionError} about a value that it must not show. */
class Withheld {
  constructor(readonly words: string) {}
}

/** @internal In place of a value that may hold a secret. */
export const NOT_SHOWN = new Withheld('(not shown)');
/** @internal In place of the value of an option that doesn't exist. It may be a misspelt one that holds a secret. */
export const UNKNOWN_OPTION = new Withheld('an unknown option');
/** @internal In place of a text where options are expected: it may be credentials. */
export const A_TEXT = new Withheld('a string');

/** A method was called in a state in which it can't do its work: `start()` after `stop()`, for example. */
export class InvalidStateError extends ConclaveError {
  readonly code = 'INVALID_STATE';
}

/** The term is over. Code that gets this error must no longer act for the term. It is also the reason of `term.signal`. */
export class TermEndedError extends ConclaveError {
  readonly code = 'TERM_ENDED';

  constructor(
    /** The term's number. */
    readonly term: number,
    /** Why it ended. */
    readonly reason: DemotionReason,
    options?: ErrorOptions,
  ) {
    super(`term ${term} is over: ${reason}`, options);
  }
}

/** This member no longer owns the shard. Code that gets this error must not act for the shard. It is also the reason of `shard.signal`. */
export class ShardEndedError extends ConclaveError {
  readonly code = 'SHARD_ENDED';

  constructor(
    /** The shard's id. */
    readonly shard: string,
    /** Why it ended. */
    readonly reason: ShardEndReason,
    options?: ErrorOptions,
  ) {
    super(`shard ${shard} is no longer owned: ${reason}`, options);
  }
}

for (const [name, type] of Object.entries({
  ConclaveError,
  InvalidOptionError,
  InvalidStateError,
  ShardEndedError,
  TermEndedError,
})) {
  mark(type, name);
}

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

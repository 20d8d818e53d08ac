import { A_TEXT, InvalidOptionError, UNKNOWN_OPTION } from '../errors.js';
import { nameOf } from '../public-class/instance-brand.js';

/**
 * Checks of the values that callers give. Each throws {@link InvalidOptionError} with the option, the value and what would be
 * right. `undefined` means "left out"; `null` is a wrong value like any other.
 */

/** The names of options that belong into an option, by the name of that option. */
export type OptionsWithin = Readonly<Record<string, readonly string[]>>;

/**
 * Refuses a value that isn't an object, and unknown names in it: a misspelt option must not be ignored. The error doesn't show the value of
 * such an option, because it may be a misspelt one that holds a secret. If the name is like a known one, the error says so.
 *
 * @param within - options that callers may have put here although they belong into one of the known options
 */
export function checkOptions<T extends object>(
  name: string,
  value: unknown,
  known: readonly (keyof T & string)[],
  within: OptionsWithin = {},
): T {
  if (value === undefined) return {} as T;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidOptionError(name, typeof value === 'string' ? A_TEXT : value, 'an object');
  for (const key of Object.keys(value))
    if (!(known as readonly string[]).includes(key))
      throw new InvalidOptionError(`${name}.${key}`, UNKNOWN_OPTION, whatIsKnown(name, key, known, within));
  return value as T;
}

/** How an option is checked, given all options: gives the value that counts, also if the option was left out. */
type Check = (name: string, value: never, options: never) => unknown;

/** The table of the options `T`: how each of them is checked. */
export type ChecksOf<T> = { readonly [K in keyof T]-?: Check };

/** A table of options. */
export type Checks = Readonly<Record<string, Check>>;

/** The values that count, by the checks of a table. */
export type Checked<C extends Checks> = {
  readonly [K in keyof C]: C[K] extends (...args: never[]) => infer V ? V : never;
};

/**
 * Reads options by their table, in its order: refuses unknown names, as {@link checkOptions} does, and checks each option.
 * @param prefix - precedes an option's name in errors
 */
export function readOptions<C extends Checks>(
  name: string,
  given: unknown,
  checks: C,
  { prefix = '', within = {} as OptionsWithin } = {},
): Checked<C> {
  return checkEach(
    checkOptions<Record<string, unknown>>(name, given, Object.keys(checks), within),
    checks,
    prefix,
  );
}

/** The part of {@link readOptions} that checks each option. */
export function checkEach<C extends Checks>(options: object, checks: C, prefix = ''): Checked<C> {
  const values = Object.entries(checks).map(([option, check]) => {
    return [option, check(prefix + option, options[option as never], options as never)];
  });
  return Object.fromEntries(values) as Checked<C>;
}

/** The check of an option that another part of the code checks. */
export function asGiven<V>(_name: string, value: V): V {
  return value;
}

function whatIsKnown(name: string, key: string, known: readonly string[], within: OptionsWithin): string {
  const places = new Map(known.map((each) => [each, `${name}.${each}`]));
  for (const [option, inner] of Object.entries(within))
    for (const each of inner) if (!places.has(each)) places.set(each, `${option}.${each}`);
  const meant = nearestName(key, [...places.keys()]);
  return `one of ${known.join(', ')}${meant === undefined ? '' : `; did you mean ${places.get(meant)}?`}`;
}

/** The options without the names whose value is `undefined`, which some code takes for a value. */
export function definedOnly<T extends object>(options: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

export function checkPositiveMs<F extends number | undefined>(
  name: string,
  value: unknown,
  fallback: F,
  { infinite = false } = {},
): number | F {
  if (value === undefined) return fallback;
  const right =
    typeof value === 'number' && value > 0 && (Number.isFinite(value) || (infinite && value === Infinity));
  if (right) return value;
  throw new InvalidOptionError(
    name,
    value,
    `a number of milliseconds over 0${infinite ? ', or Infinity' : ''}`,
  );
}

export function checkMs(name: string, value: unknown): number | undefined {
  return value === undefined ? undefined : checkGivenMs(name, value);
}

/** The same for an argument, which can't be left out. */
export function checkGivenMs(name: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
    throw new InvalidOptionError(name, value, 'a number of milliseconds, 0 or more');
  return value;
}

/** An instance of the class itself. An object that only looks like one is refused. */
export function checkInstance<T extends object>(name: string, value: T, type: { readonly prototype: T }): T {
  if (!Object.prototype.isPrototypeOf.call(type.prototype, value))
    throw new InvalidOptionError(name, value, nameOf(type.prototype) as string);
  return value;
}

export function checkFunction<F extends (...args: never[]) => unknown>(
  name: string,
  value: F | undefined,
): F | undefined {
  if (value !== undefined && typeof value !== 'function')
    throw new InvalidOptionError(name, value, 'a function');
  return value;
}

export function checkSignal(name: string, value: AbortSignal | undefined): AbortSignal | undefined {
  if (value !== undefined && !(value instanceof AbortSignal))
    throw new InvalidOptionError(name, value, 'an AbortSignal');
  return value;
}

/** A number of seats, which is how many may hold at once. */
export function checkSeats(name: string, value: unknown): number {
  return checkWhole(name, value, 1, MOST_SEATS);
}

/** A whole number in a range, both ends included. */
export function checkWhole(name: string, value: unknown, first: number, last: number): number {
  if (Number.isInteger(value) && (value as number) >= first && (value as number) <= last)
    return value as number;
  throw new InvalidOptionError(name, value, `a whole number from ${first} to ${last}`);
}

/** The next contender in the queue watches as many nodes as there are seats. */
export const MOST_SEATS = 10_000;

export function checkBoolean(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw new InvalidOptionError(name, value, 'true or false');
  return value;
}

export function checkOneOf<T extends string>(
  name: string,
  value: unknown,
  choices: readonly T[],
  fallback: T,
  why = '',
): T {
  if (value === undefined) return fallback;
  if ((choices as readonly unknown[]).includes(value)) return value as T;
  const listed = choices.map((choice) => `'${choice}'`).join(', ');
  throw new InvalidOptionError(name, value, `one of ${listed}${why}`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f]/;

/** Names must be short and printable, because they go into znodes that every client reads. */
export function checkId(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || value.length < 1 || value.length > 256 || CONTROL_CHARACTERS.test(value))
    throw new InvalidOptionError(name, value, 'a string of 1 to 256 printable characters');
  return checkUtf8(name, value);
}

const HALF_CHARACTER = /\p{Surrogate}/u;

/** Whether a string has a UTF-8 form: half a surrogate pair has none, and can't be in the name of a node. */
export function hasUtf8(text: string): boolean {
  return !HALF_CHARACTER.test(text);
}

/** @throws InvalidOptionError for a string without a UTF-8 form */
export function checkUtf8(name: string, value: string): string {
  if (hasUtf8(value)) return value;
  throw new InvalidOptionError(name, value, 'a string that has a UTF-8 form, without half a surrogate pair');
}

/** What user and password of SASL have to be, to follow "a string". */
export const OF_CREDENTIALS = 'not empty, without NUL or half a surrogate pair';

/** Whether a value can be the user or the password of DIGEST-MD5. */
export function isCredential(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0') && hasUtf8(value);
}

/** The limit for a candidate's data. It is small, because a listing of candidates reads the data of each. */
export const MAX_METADATA_BYTES = 16 * 1024;

export function checkMetadata(name: string, value: unknown): string | Uint8Array | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' && !(value instanceof Uint8Array))
    throw new InvalidOptionError(name, value, 'a string or a Uint8Array');
  const bytes = Buffer.byteLength(value);
  if (bytes > MAX_METADATA_BYTES)
    throw new InvalidOptionError(name, `${bytes} bytes long`, `at most ${MAX_METADATA_BYTES} bytes`);
  return value;
}

/** The longest path, in bytes, that an option may have. The nodes below it have longer ones. */
export const MOST_PATH_BYTES = 4096;

/** The path in an option: as {@link checkPathToCreate} says, and of at most 4096 bytes. */
export function checkPath(name: string, value: unknown): string {
  const path = checkPathToCreate(name, value);
  if (Buffer.byteLength(path) > MOST_PATH_BYTES)
    throw new InvalidOptionError(name, path, `a path of at most ${MOST_PATH_BYTES} bytes`);
  return path;
}

/** A path that ZooKeeper accepts (`PathUtils.validatePath`), and that {@link checkPathOfNode} accepts. */
export function checkPathToCreate(name: string, value: unknown): string {
  const path = checkPathOfNode(name, value);
  const wrong = (expected: string) => new InvalidOptionError(name, value, expected);
  if (/\/\.{1,2}(?:\/|$)/.test(path)) throw wrong('a path without the parts . and ..');
  if (REFUSED_CHARACTERS.test(path)) throw wrong('a path without characters that ZooKeeper refuses');
  return path;
}

/**
 * A path that a node may have at any server, with any names: they may come from a listing. It must be outside `/zookeeper`, which belongs
 * to the servers, and below the root, which can't be a queue.
 */
export function checkPathOfNode(name: string, value: unknown): string {
  const wrong = (expected: string) => new InvalidOptionError(name, value, expected);
  if (typeof value !== 'string') throw wrong('a string');
  if (!value.startsWith('/')) throw wrong('an absolute path, beginning with /');
  if (value === '/') throw wrong('a path below the root');
  if (value.endsWith('/')) throw wrong('a path that does not end with /');
  if (value.includes('//')) throw wrong('a path without empty parts');
  if (value === '/zookeeper' || value.startsWith('/zookeeper/')) throw wrong('a path outside /zookeeper');
  return checkUtf8(name, value); // Any other would be another node's.
}

// The ranges that ZooKeeper's PathUtils refuses: control characters, surrogates (so everything outside the basic
// plane), the private use area, specials.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const REFUSED_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/;

/**
 * The name that was probably meant by one that doesn't exist; `undefined` if none is near. Upper and lower case, and a unit at the end
 * (`Ms`), make no difference. If several names are equally near, the first one counts.
 */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const wanted = simplified(given);
  let [nearest, least] = [undefined as string | undefined, mostEdits(wanted) + 1];
  for (const name of names) {
    const possible = simplified(name);
    const isBeginning = wanted.length >= LEAST_BEGINNING && possible.startsWith(wanted);
    const edits = isBeginning && possible !== wanted ? 1 : editsBetween(wanted, possible);
    if (edits < least) [nearest, least] = [name, edits];
  }
  return nearest;
}

const LEAST_BEGINNING = 4; // How many characters of a name stand for all of it, as `prio` for `priority`.

function simplified(name: string): string {
  return name.toLowerCase().replace(/(?<=.)ms$/, '');
}

/** A short name becomes another one with a single edit, as `id` and `ip`. */
function mostEdits({ length }: string): number {
  if (length < 4) return 0;
  return length < 8 ? 1 : 2;
}

const LONGEST = 40; // Longer than any option's name. The work grows with the product of both lengths.

/** How many characters have to be inserted, deleted, changed or swapped with the next one, to make one text the other. */
function editsBetween(one: string, other: string): number {
  if (one.length > LONGEST) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const change = (last[j - 1] as number) + Number(one[i - 1] !== other[j - 1]);
      row[j] = Math.min(change, (last[j] as number) + 1, (row[j - 1] as number) + 1);
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwapped) row[j] = Math.min(row[j] as number, (beforeLast[j - 2] as number) + 1);
    }
    [beforeLast, last] = [last, row];
  }
  return last[other.length] as number;
}

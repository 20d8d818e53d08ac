import { ConclaveError } from '../../base-errors.js';
import { describe } from '../../public-class/shown-in-messages.js';
import { printable } from '../printable.js';

/** How an error is shown to a logger that isn't pino: many such loggers write JSON, in which an error is `{}`. */
interface ShownError {
  readonly name?: string;
  readonly message: string;
  readonly code?: unknown;
  readonly stack?: string;
  readonly cause?: ShownError;
}

/** `pino.symbols.serializersSym`. A logger that has this property gets errors as they are. */
export const PINO_SERIALIZERS = Symbol.for('pino.serializers');
// Causes may form a circle.
const MOST_CAUSES = 8;
// An error may have any stack: it is the application's.
const MOST_CHARACTERS = 8000;

/**
 * The details of a line in the form for this logger. A thrown value is in `err`: that is the key for which pino has a serializer, also in
 * loggers of the user's. pino gets the error itself.
 */
export function detailsFor(logger: object, details: object): object {
  if (!('err' in details)) return details;
  const { err } = details;
  if (err instanceof Error && PINO_SERIALIZERS in logger) return details;
  return { ...details, err: shownError(err) };
}

function shownError(thrown: unknown, causes = 0): ShownError {
  if (!(thrown instanceof Error)) return { message: describe(thrown) };
  const { name, message, stack, cause } = thrown;
  return {
    name,
    message,
    ...codeOf(thrown),
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && causes < MOST_CAUSES && { cause: shownError(cause, causes + 1) }),
  };
}

/** The code of an error, if it has one: Conclave's errors have, and Node's. */
export function codeOf(thrown: unknown): { readonly code?: unknown } {
  return thrown instanceof Error && 'code' in thrown ? { code: thrown.code } : {};
}

/**
 * The stacks of an error and its causes, as lines for people, with a line break before each. An error of Conclave that wraps what the
 * application threw is described by its message and code. The same holds for an error whose stack has none of the application's files.
 */
export function stackLines(thrown: unknown): string {
  const stacks: string[] = [];
  let error = thrown instanceof ConclaveError ? thrown.cause : thrown;
  for (let causes = 0; error instanceof Error && causes <= MOST_CAUSES; causes++, error = error.cause) {
    const stack = String(error.stack).slice(0, MOST_CHARACTERS);
    if (!isOfApplication(stack)) continue;
    const [head = '', ...frames] = stack.split('\n');
    const { code } = codeOf(error);
    const withCode = code === undefined ? head : `${head} [${code}]`;
    stacks.push([stacks.length === 0 ? withCode : `caused by: ${withCode}`, ...frames].join('\n'));
  }
  const text = stacks.join('\n').slice(0, MOST_CHARACTERS);
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : `\n    ${printable(line)}`))
    .join('');
}

const FRAME = /^\s*at /;
const OF_OTHERS = /[\\/]node_modules[\\/]conclave[\\/]|\bnode:/;

function isOfApplication(stack: string): boolean {
  return stack.split('\n').some((line) => FRAME.test(line) && !OF_OTHERS.test(line));
}

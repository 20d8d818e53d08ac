import { VERSION } from './version.js';

/**
 * If two copies of Conclave are in one process, for example of two versions, each has its own classes with the same names. An
 * object of the other copy can't be used here, but it can be recognized. Each class has its name and its copy on its prototype,
 * under a symbol that all copies share.
 */
const MARK: unique symbol = Symbol.for('conclave.class') as never;

/** Other versions read this, so it can't be changed. */
interface Mark {
  readonly name: string;
  /** All classes of one copy have the same object. */
  readonly copy: { readonly version: string };
}

const THIS_COPY: Mark['copy'] = { version: VERSION };

/** Call it once for each class that other copies have to recognize. It takes the `name`, because bundlers change class names. */
export function mark(type: { readonly prototype: object }, name: string): void {
  Object.defineProperty(type.prototype, MARK, { value: { name, copy: THIS_COPY } satisfies Mark });
}

/** Describes a value of one of Conclave's classes, as 'a Session'; `undefined` for all other values. */
export function nameOf(value: object): string | undefined {
  const found = markOf(value);
  if (found === undefined) return undefined;
  const name = `${/^[AEIOU]/.test(found.name) ? 'an' : 'a'} ${found.name}`;
  return found.copy === THIS_COPY ? name : `${name} of another copy of conclave (${found.copy.version})`;
}

/** Whether a value belongs to a class of another copy. */
export function isOfAnotherCopy(value: unknown): boolean {
  const found = markOf(value);
  return found !== undefined && found.copy !== THIS_COPY;
}

/** Advice about a value of another copy, to be appended to a message; '' for all other values. */
export function adviceOnCopies(value: unknown): string {
  if (!isOfAnotherCopy(value)) return '';
  return ` of this copy (${VERSION}); \`npm ls conclave\` shows which package brings which copy; give all the same version and run \`npm dedupe\`, so that one copy is left`;
}

/** As `value instanceof type`, but also true for a value of another copy's class of that name, or of a class that is derived from it. */
export function isInstanceInAnyCopy(type: { readonly prototype: object }, value: unknown): boolean {
  if (Object.prototype.isPrototypeOf.call(type.prototype, value as object)) return true;
  // A class that the application has derived from a class of this copy is known only in this copy.
  if (!isOfAnotherCopy(value) || !Object.hasOwn(type.prototype, MARK)) return false;
  const wanted = (type.prototype as { [MARK]: Mark })[MARK].name;
  for (let level: unknown = value; level !== null; level = Object.getPrototypeOf(level))
    if (Object.hasOwn(level as object, MARK) && markOf(level)?.name === wanted) return true;
  return false;
}

/** The mark of the nearest class that has one. */
function markOf(value: unknown): Mark | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as { readonly [MARK]?: Mark })[MARK];
}

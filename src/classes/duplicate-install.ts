import { VERSION } from './version.js';

/**
 * Two copies of Conclave in one process, of two versions say, each have a class of the same name. An object of the other copy
 * can't be used here, but it can be recognized: each class has on its prototype its name and its copy, under a symbol that all
 * copies share.
 */
const MARK: unique symbol = Symbol.for('conclave.class') as never;

/** Other versions read this: it can't be changed. */
interface Mark {
  readonly name: string;
  /** The same object for all classes of one copy. */
  readonly copy: { readonly version: string };
}

const THIS_COPY: Mark['copy'] = { version: VERSION };

/** To be called once for each class that other copies have to recognize. `name` is given, since bundlers change class names. */
export function mark(type: { readonly prototype: object }, name: string): void {
  Object.defineProperty(type.prototype, MARK, { value: { name, copy: THIS_COPY } satisfies Mark });
}

/** Describes a value of one of Conclave's classes, as 'a Session'; `undefined` for all others. */
export function nameOf(value: object): string | undefined {
  const found = markOf(value);
  if (found === undefined) return undefined;
  const name = `${/^[AEIOU]/.test(found.name) ? 'an' : 'a'} ${found.name}`;
  return found.copy === THIS_COPY ? name : `${name} of another copy of conclave (${found.copy.version})`;
}

/** Whether a value is of a class of another copy. */
export function isOfAnotherCopy(value: unknown): boolean {
  const found = markOf(value);
  return found !== undefined && found.copy !== THIS_COPY;
}

/** What to do about a value of another copy, to follow what was expected; '' for all others. */
export function adviceOnCopies(value: unknown): string {
  if (!isOfAnotherCopy(value)) return '';
  return ` of this copy (${VERSION}); \`npm ls conclave\` shows who brings which, and with the same version for all, after \`npm dedupe\`, one is left`;
}

/** `value instanceof type`, also for a value of another copy's class of that name, or of one that is derived from it. */
export function isInstanceInAnyCopy(type: { readonly prototype: object }, value: unknown): boolean {
  if (Object.prototype.isPrototypeOf.call(type.prototype, value as object)) return true;
  // A class that was derived from one of this copy's is known in this copy only.
  if (!isOfAnotherCopy(value) || !Object.hasOwn(type.prototype, MARK)) return false;
  const wanted = (type.prototype as { [MARK]: Mark })[MARK].name;
  for (let level: unknown = value; level !== null; level = Object.getPrototypeOf(level))
    if (Object.hasOwn(level as object, MARK) && markOf(level)?.name === wanted) return true;
  return false;
}

/** Of the nearest class that has one. */
function markOf(value: unknown): Mark | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as { readonly [MARK]?: Mark })[MARK];
}

import { nameOf } from './copies.js';

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** As much of `util.inspect` as is needed: Node gives it to those who ask for it by that symbol. */
type Inspect = (value: object, options: object) => string;

/**
 * What `JSON.stringify` and `console.log` show of the objects of a class, instead of fields that say little, or that JSON
 * can't write: the same in both, but that 64-bit numbers are strings in JSON. On the prototype: nothing is added to an object.
 *
 * @param parts - must be cheap and change nothing: whoever prints an object doesn't ask for more
 */
export function showAs<T extends object>(type: { readonly prototype: T }, parts: (value: T) => object): void {
  const toJSON = function (this: T): object {
    return forJson(parts(this));
  };
  const inspect = function (this: T, depth: number, options: object, inspect: Inspect): string {
    const name = nameOf(this)?.split(' ')[1] ?? type.prototype.constructor.name;
    return depth < 0 ? `[${name}]` : `${name} ${inspect(parts(this), options)}`;
  };
  Object.defineProperty(type.prototype, 'toJSON', { value: toJSON, configurable: true, writable: true });
  Object.defineProperty(type.prototype, INSPECT, { value: inspect, configurable: true, writable: true });
}

/** The same, with strings for the 64-bit numbers of which JSON knows nothing. */
export function forJson(parts: object): object {
  const entries = Object.entries(parts);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === 'bigint' ? String(value) : value]),
  );
}

import { nameOf } from './instance-brand.js';

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** The part of `util.inspect` that is used here. Node passes it to the method under that symbol. */
type Inspect = (value: object, options: object) => string;

/**
 * Sets which parts `JSON.stringify` and `console.log` show of the objects of a class, instead of fields that say little or that JSON can't
 * write. Both show the same, except that 64-bit numbers are strings in JSON. The methods are on the prototype, so objects don't grow.
 *
 * @param parts - returns the parts to show. It must be cheap and must not change anything
 */
export function showAs<T extends object>(type: { readonly prototype: T }, parts: (value: T) => object): void {
  const methods = {
    toJSON(this: T): object {
      return forJson(parts(this));
    },
    [INSPECT](this: T, depth: number, options: object, inspect: Inspect): string {
      const name = nameOf(this)?.split(' ')[1] ?? type.prototype.constructor.name;
      return depth < 0 ? `[${name}]` : `${name} ${inspect(parts(this), options)}`;
    },
  };
  for (const name of ['toJSON', INSPECT] as const)
    Object.defineProperty(type.prototype, name, { value: methods[name], configurable: true, writable: true });
}

/** The parts with strings for 64-bit numbers, which JSON doesn't have. */
export function forJson(parts: object): object {
  const entries = Object.entries(parts);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === 'bigint' ? String(value) : value]),
  );
}

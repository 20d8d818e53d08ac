/**
 * Returns the new value, with each part that is equal to a part of the former value replaced by that part. The page doesn't
 * draw the same object again. So after a new connection it draws only the parts that have changed meanwhile.
 */
export function share<T>(former: unknown, value: T): T {
  if (former === value || typeof former !== 'object' || typeof value !== 'object') return value;
  if (former === null || value === null || Array.isArray(former) !== Array.isArray(value)) return value;
  const old = former as Record<string, unknown>;
  const shared = (Array.isArray(value) ? [] : {}) as Record<string, unknown>;
  const keys = Object.keys(value);
  let isSame = keys.length === Object.keys(old).length;
  for (const key of keys) {
    const part = share(old[key], (value as Record<string, unknown>)[key]);
    shared[key] = part;
    isSame &&= key in old && part === old[key];
  }
  return (isSame ? former : shared) as T;
}

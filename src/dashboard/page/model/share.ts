/**
 * The new value, with every part of the former one in place of an equal part. What is drawn from a part that is the same
 * object isn't drawn again: so a stream of events that begins anew costs only what has changed meanwhile.
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

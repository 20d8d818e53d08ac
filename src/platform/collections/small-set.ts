/**
 * A set of objects or functions that has one member nearly always, and is that one then: a `Set` takes some 250 bytes, and
 * whoever waits in a queue has half a dozen of these.
 */
export type SmallSet<T extends object> = T | Set<T> | undefined;

/** With `member` in it. */
export function withMember<T extends object>(few: SmallSet<T>, member: T): SmallSet<T> {
  if (few === undefined || few === member) return member;
  return few instanceof Set ? few.add(member) : new Set([few, member]);
}

/** Without `member`; `undefined` when that was the last one. */
export function withoutMember<T extends object>(few: SmallSet<T>, member: T): SmallSet<T> {
  if (few === member) return undefined;
  if (!(few instanceof Set)) return few;
  few.delete(member);
  return few.size === 0 ? undefined : few;
}

export function hasMember<T extends object>(few: SmallSet<T>, member: T): boolean {
  return few === member || (few instanceof Set && few.has(member));
}

/** In the order in which they came. */
export function membersOf<T extends object>(few: SmallSet<T>): T[] {
  if (few === undefined) return [];
  return few instanceof Set ? [...few] : [few];
}

export function sizeOf(few: SmallSet<object>): number {
  if (few === undefined) return 0;
  return few instanceof Set ? few.size : 1;
}

/** Those that are in it when their turn comes, as with a `Set`. */
export function forEachOf<T extends object>(few: SmallSet<T>, task: (member: T) => void): void {
  if (few instanceof Set) for (const member of few) task(member);
  else if (few !== undefined) task(few);
}

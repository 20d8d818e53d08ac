/**
 * A set that nearly always has one member. Then it is that member itself, which saves the 250 bytes of a `Set`, six times in each waiter.
 */
export type SmallSet<T extends object> = T | Set<T> | undefined;

export function withMember<T extends object>(set: SmallSet<T>, member: T): SmallSet<T> {
  if (set === undefined || set === member) return member;
  return set instanceof Set ? set.add(member) : new Set([set, member]);
}

/** The set without `member`; `undefined` if that was the last member. */
export function withoutMember<T extends object>(set: SmallSet<T>, member: T): SmallSet<T> {
  if (set === member) return undefined;
  if (!(set instanceof Set)) return set;
  set.delete(member);
  return set.size === 0 ? undefined : set;
}

export function hasMember<T extends object>(set: SmallSet<T>, member: T): boolean {
  return set === member || (set instanceof Set && set.has(member));
}

/** The members in the order in which they were added. */
export function membersOf<T extends object>(set: SmallSet<T>): T[] {
  if (set === undefined) return [];
  return set instanceof Set ? [...set] : [set];
}

export function sizeOf(set: SmallSet<object>): number {
  if (set === undefined) return 0;
  return set instanceof Set ? set.size : 1;
}

/** Calls `task` for each member. A member that is removed before its turn is left out, as with a `Set`. */
export function forEachOf<T extends object>(set: SmallSet<T>, task: (member: T) => void): void {
  if (set instanceof Set) for (const member of set) task(member);
  else if (set !== undefined) task(set);
}

/** A member of at most one {@link LinkedList}. Only the list writes these fields. */
export interface LinkedListNode<T> {
  before: T | undefined;
  after: T | undefined;
}

/**
 * Objects in the order in which they were appended. Each may be removed at any time. A `Set` would have a table of hundreds of
 * bytes, even when it is empty, and that never shrinks. There are very many lists.
 */
export class LinkedList<T extends LinkedListNode<T>> {
  #first: T | undefined;
  #last: T | undefined;

  get first(): T | undefined {
    return this.#first;
  }

  /** @param link - an object that isn't in any list */
  append(link: T): void {
    link.before = this.#last;
    if (this.#last === undefined) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
  }

  /** Does nothing if `link` isn't in the list. */
  remove(link: T): void {
    const { before, after } = link;
    if (before === undefined && this.#first !== link) return;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    link.before = undefined;
    link.after = undefined;
  }

  shift(): T | undefined {
    const first = this.#first;
    if (first !== undefined) this.remove(first);
    return first;
  }
}

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

/** The member that was added first. */
export function firstOf<T extends object>(set: SmallSet<T>): T | undefined {
  if (!(set instanceof Set)) return set;
  const [first] = set;
  return first;
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

/** Splits a list into lists of up to `most` elements, in order. */
export function inBatches<T>(all: readonly T[], most: number): T[][] {
  const count = Math.ceil(all.length / most);
  return Array.from({ length: count }, (_, at) => all.slice(at * most, (at + 1) * most));
}

/** A member of at most one {@link LinkedList}, which alone writes these fields. */
export interface LinkedListNode<T> {
  before: T | undefined;
  after: T | undefined;
}

/**
 * Objects in the order in which they were appended; each may be removed at any time. Its gain over a `Set`: a table of hundreds
 * of bytes in each of very many lists, which an empty `Set` has too, and which never shrinks.
 */
export class LinkedList<T extends LinkedListNode<T>> {
  #first: T | undefined;
  #last: T | undefined;

  get first(): T | undefined {
    return this.#first;
  }

  /** @param link - must be in no list */
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

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

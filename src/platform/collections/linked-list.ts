/** What can be in a {@link LinkedList}, in one at a time. The chain alone writes it. */
export interface LinkedListNode<T> {
  before: T | undefined;
  after: T | undefined;
}

/**
 * Objects in the order in which they came, any of which may leave: a `Set` without its table, which takes hundreds of bytes
 * in each of very many, also when it is empty, and more the more there once were.
 */
export class LinkedList<T extends LinkedListNode<T>> {
  #first: T | undefined;
  #last: T | undefined;

  /** The one that has been in it for longest. */
  get first(): T | undefined {
    return this.#first;
  }

  /** @param link - one that is in no chain */
  append(link: T): void {
    link.before = this.#last;
    if (this.#last === undefined) this.#first = link;
    else this.#last.after = link;
    this.#last = link;
  }

  /** Does nothing if it isn't there. */
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

  /** Takes the first one out. */
  shift(): T | undefined {
    const first = this.#first;
    if (first !== undefined) this.remove(first);
    return first;
  }
}

/** What can be in a {@link LinkedSet}: in one at a time, which alone writes these. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/**
 * A set of things that come and go with every call.
 *
 * A `Set` makes itself a new table whenever enough was deleted from it. V8 lets
 * each old table keep the next one, and what was in it, until a full collection,
 * so all that ever passed through a busy one has to be collected the dear way.
 * Members that know their neighbours need no table.
 */
export class LinkedSet<T extends Linked<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The one that has been in it the longest. */
  get first(): T | undefined {
    return this.#first;
  }

  /** Whether it is in the set. It must not be in another. */
  has(member: T): boolean {
    return member.previous !== undefined || this.#first === member;
  }

  /** Takes what is in no set. */
  add(member: T): void {
    member.previous = this.#last;
    if (this.#last === undefined) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
    this.#size++;
  }

  /** False when it was not in the set. It must not be in another. */
  delete(member: T): boolean {
    if (!this.has(member)) return false;
    const { previous, next } = member;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    member.previous = undefined;
    member.next = undefined;
    this.#size--;
    return true;
  }

  /** Those that are in it now, in the order they came. */
  toArray(): readonly T[] {
    const members: T[] = [];
    for (let member = this.#first; member !== undefined; member = member.next) members.push(member);
    return members;
  }
}

type Id = string | number;

interface Entry<T> {
  readonly id: number;
  readonly value: T;
  /** One that came earlier and belongs in the same place. */
  next: Entry<T> | undefined;
}

/**
 * What is under way, by its id. `1` and `"1"` are different ids. Everything comes
 * and goes, and ids mostly are numbers given one after the other.
 *
 * Not a `Map`, for the reason why `LinkedSet` is no `Set`: a busy one makes the
 * collector keep, for long, what was deleted from it. Strings are in one. Takes
 * next to no memory until something is added.
 */
export class IdTable<T> {
  /** A power of two, so that ids in a row have a place each. */
  #places: (Entry<T> | undefined)[] = noPlaces;
  #numbered = 0;
  #named: Map<string, T> | undefined;

  get size(): number {
    return this.#numbered + (this.#named?.size ?? 0);
  }

  /** The id must not be in the table. */
  add(id: Id, value: T): void {
    if (typeof id === "number") {
      // Half of the places stay free, so that few have to be shared.
      if (this.#numbered * 2 >= this.#places.length) this.#grow();
      this.#put({ id, value, next: undefined });
      this.#numbered++;
    } else {
      this.#named ??= new Map();
      this.#named.set(id, value);
    }
  }

  get(id: Id): T | undefined {
    if (typeof id === "string") return this.#named?.get(id);
    let entry = this.#places[this.#placeOf(id)];
    while (entry !== undefined && entry.id !== id) entry = entry.next;
    return entry?.value;
  }

  /** Takes out what has this id, and returns it. */
  take(id: Id): T | undefined {
    if (typeof id === "number") return this.#takeNumbered(id);
    const value = this.#named?.get(id);
    this.#named?.delete(id);
    return value;
  }

  /** Everything that is in it, in no particular order. */
  values(): readonly T[] {
    const values = this.#entries().map((entry) => entry.value);
    if (this.#named !== undefined) values.push(...this.#named.values());
    return values;
  }

  /** Takes out everything. */
  clear(): readonly T[] {
    const values = this.values();
    this.#places = noPlaces;
    this.#numbered = 0;
    this.#named = undefined;
    return values;
  }

  #takeNumbered(id: number): T | undefined {
    const place = this.#placeOf(id);
    let before: Entry<T> | undefined;
    let entry = this.#places[place];
    while (entry !== undefined && entry.id !== id) {
      before = entry;
      entry = entry.next;
    }
    if (entry === undefined) return undefined;
    if (before === undefined) this.#places[place] = entry.next;
    else before.next = entry.next;
    this.#numbered--;
    return entry.value;
  }

  #placeOf(id: number): number {
    return id & (this.#places.length - 1);
  }

  #put(entry: Entry<T>): void {
    const place = this.#placeOf(entry.id);
    entry.next = this.#places[place];
    this.#places[place] = entry;
  }

  #entries(): readonly Entry<T>[] {
    const entries: Entry<T>[] = [];
    for (const first of this.#places) {
      for (let entry = first; entry !== undefined; entry = entry.next) entries.push(entry);
    }
    return entries;
  }

  #grow(): void {
    const entries = this.#entries();
    this.#places = new Array<undefined>(Math.max(fewest, this.#places.length * 2)).fill(undefined);
    for (const entry of entries) this.#put(entry);
  }
}

/** Shared by all that are empty, and never written to. */
const noPlaces: undefined[] = [];
const fewest = 8;

/** Names in the order of their UTF-16 units. */
export interface SortedNames {
  readonly size: number;
  add(name: string): void;
  delete(name: string): void;
  /** Those that come after `after` now, or all. */
  from(after: string | undefined): readonly string[];
}

export function sortedNames(): SortedNames {
  const names: string[] = [];

  /** Where the first name is that is not smaller. */
  const indexOf = (name: string): number => {
    let [low, high] = [0, names.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((names[middle] as string) < name) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    get size() {
      return names.length;
    },
    add(name) {
      const index = indexOf(name);
      if (names[index] !== name) names.splice(index, 0, name);
    },
    delete(name) {
      const index = indexOf(name);
      if (names[index] === name) names.splice(index, 1);
    },
    from(after) {
      if (after === undefined) return [...names];
      const index = indexOf(after);
      return names.slice(names[index] === after ? index + 1 : index);
    },
  };
}

/** Code points, as sorted and disjoint ranges with both ends included. */
export type CharSet = readonly Range[];

export type Range = readonly [from: number, to: number];

const last = 0x10ffff;

export const anyChar: CharSet = [[0, last]];

/** The set of all code points in any of the ranges, which may overlap and come in any order. */
export function charSet(ranges: readonly Range[]): CharSet {
  const merged: [number, number][] = [];
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const previous = merged.at(-1);
    if (previous !== undefined && from <= previous[1] + 1) previous[1] = Math.max(previous[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

export function complement(set: CharSet): CharSet {
  const gaps: Range[] = [];
  let from = 0;
  for (const range of set) {
    if (range[0] > from) gaps.push([from, range[0] - 1]);
    from = range[1] + 1;
  }
  if (from <= last) gaps.push([from, last]);
  return gaps;
}

export function intersection(a: CharSet, b: CharSet): CharSet {
  return complement(charSet([...complement(a), ...complement(b)]));
}

/** True if some code point is in both sets. */
export function overlap(a: CharSet, b: CharSet): boolean {
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [left, right] = [a[i], b[j]];
    if (left === undefined || right === undefined) return false;
    if (left[1] < right[0]) i++;
    else if (right[1] < left[0]) j++;
    else return true;
  }
  return false;
}

const digits: readonly Range[] = [[0x30, 0x39]];
const words: readonly Range[] = [...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]];
const spaces: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

/** What `\d`, `\D`, `\w`, `\W`, `\s` and `\S` match in a regular expression with the `u` flag. */
export const classEscapes: ReadonlyMap<string, CharSet> = new Map([
  ["d", charSet(digits)],
  ["D", complement(charSet(digits))],
  ["w", charSet(words)],
  ["W", complement(charSet(words))],
  ["s", charSet(spaces)],
  ["S", complement(charSet(spaces))],
]);

/** What `.` matches: everything but the line terminators. */
export const dot: CharSet = complement([
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]);

/**
 * What a property escape such as `\p{L}` may match: exact for ASCII, and every
 * other code point, since the tables of Unicode are not worth carrying for this.
 */
export function propertySet(source: string): CharSet {
  const property = new RegExp(`^${source}$`, "u");
  const ranges: Range[] = [[0x80, last]];
  for (let code = 0; code < 0x80; code++) {
    if (property.test(String.fromCharCode(code))) ranges.push([code, code]);
  }
  return charSet(ranges);
}

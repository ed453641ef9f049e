const MAX_NAME_CHARS = 200;

const MAX_FOUND = 3;

/**
 * The names that somebody may have meant, nearest first, at most three; among
 * equals the first. A full name is also near by its part after the `:`. Case and
 * separators do not count.
 */
export function nearestTo(wanted: string, names: readonly string[]): readonly string[] {
  const want = folded(wanted);
  const near: { readonly name: string; readonly distance: number }[] = [];
  let reach = Math.max(2, Math.floor(want.length / 3));
  for (const name of names) {
    const distance = Math.min(...formsOf(name).map((form) => distanceOf(want, form, reach)));
    if (distance > reach) continue;
    const place = near.findIndex((other) => other.distance > distance);
    near.splice(place < 0 ? near.length : place, 0, { name, distance });
    if (near.length > MAX_FOUND) near.pop();
    // Only what is nearer than the last of them can come in between.
    if (near.length === MAX_FOUND) reach = (near.at(-1)?.distance ?? 0) - 1;
    if (reach < 0) break;
  }
  return near.map(({ name }) => name);
}

function formsOf(name: string): readonly string[] {
  const colon = name.indexOf(":");
  return colon < 0 ? [folded(name)] : [folded(name), folded(name.slice(colon + 1))];
}

function folded(name: string): string {
  return name
    .slice(0, MAX_NAME_CHARS)
    .toLowerCase()
    .replaceAll(/[\s:_./-]+/g, "");
}

/** How many characters must be put in, left out or replaced; something above `reach` when it is more than that. */
function distanceOf(a: string, b: string, reach: number): number {
  if (Math.abs(a.length - b.length) > reach) return reach + 1;
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  let row = [...above];
  for (let at = 1; at <= a.length; at++) {
    if (fillRow(row, above, a.charCodeAt(at - 1), b) > reach) return reach + 1;
    [above, row] = [row, above];
  }
  return above[b.length] ?? 0;
}

/** Fills the row of one more character from the one above it. Returns its least distance. */
function fillRow(row: number[], above: readonly number[], unit: number, b: string): number {
  let left = (above[0] ?? 0) + 1;
  let least = left;
  row[0] = left;
  for (let at = 1; at <= b.length; at++) {
    const replaced = (above[at - 1] ?? 0) + (b.charCodeAt(at - 1) === unit ? 0 : 1);
    left = Math.min(replaced, (above[at] ?? 0) + 1, left + 1);
    row[at] = left;
    if (left < least) least = left;
  }
  return least;
}

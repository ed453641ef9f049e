/**
 * The characters of a URI, percent-decoded once, as code points.
 *
 * Spellings that RFC 3986 calls equivalent become equal: `%7E` is `~` and
 * `%C3%A9` is `é`. An encoded delimiter is marked, so that `%2F` in a value is
 * never taken for the `/` behind it.
 */
export type Units = readonly number[];

const encodedMark = 0x20_0000;

/** Reads a URI. Undefined if a `%` is not the start of percent-encoded UTF-8. */
export function toUnits(uri: string): Units | undefined {
  const units: number[] = [];
  for (let at = 0; at < uri.length; ) {
    const isEncoded = uri[at] === "%";
    const end = isEncoded ? endOfTriplets(uri, at) : endOfPlain(uri, at);
    const text = isEncoded ? decode(uri.slice(at, end)) : uri.slice(at, end);
    if (text === undefined) return undefined;
    for (const char of text) units.push(toUnit(char, isEncoded));
    at = end;
  }
  return units;
}

/** The units of a piece of a template. Triplets that are no UTF-8 equal nothing, as no such URI can be read. */
export function toTemplateUnits(text: string): Units {
  return toUnits(text) ?? [-1];
}

/** The text of some units, without a trace of what was encoded. */
export function fromUnits(units: Units): string {
  return units.map((unit) => String.fromCodePoint(unit & ~encodedMark)).join("");
}

function endOfTriplets(uri: string, start: number): number {
  let end = start;
  while (uri[end] === "%") end += 3;
  return end;
}

function endOfPlain(uri: string, start: number): number {
  const end = uri.indexOf("%", start);
  return end < 0 ? uri.length : end;
}

function decode(triplets: string): string | undefined {
  try {
    return decodeURIComponent(triplets);
  } catch {
    return undefined;
  }
}

function toUnit(char: string, isEncoded: boolean): number {
  const code = char.codePointAt(0) ?? 0;
  return isEncoded && isDelimiter(char) ? code | encodedMark : code;
}

/** Whether encoding the character changes what a URI means. */
function isDelimiter(char: string): boolean {
  return char <= "\x7f" && !/[\w.~-]/.test(char);
}

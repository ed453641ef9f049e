/** Where something was said. Lines and columns count from 1. */
export interface Place {
  /** The path of the file, as it was given. */
  readonly path: string;
  /** Not there for what was given in code. */
  readonly line?: number;
  readonly column?: number;
}

/** `mcp.json:3:5`, as editors and terminals understand it. */
export function formatPlace({ path, line, column }: Place): string {
  return line === undefined ? path : `${path}:${line}:${column ?? 1}`;
}

/** Finds the place of an offset into a text. */
export type Locate = (offset: number) => Place;

/** Finds places in a text. Lines end with `\n`, `\r\n` or `\r`. */
export function locator(path: string, text: string): Locate {
  const starts = [0];
  for (const { index, 0: end } of text.matchAll(/\r\n|\r|\n/g)) starts.push(index + end.length);
  return (offset) => {
    const line = lineOf(starts, offset);
    return { path, line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

/** The last line that starts at or before the offset. */
function lineOf(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

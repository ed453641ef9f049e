/** Lines that go and lines that come, between the lines that two texts begin and end with alike. */
export interface LineDiff {
  /** The line that the difference begins at, from 1. */
  readonly line: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** The difference between two texts as one piece: an edit of one server touches one place. */
export function diffLines(before: string, after: string): LineDiff {
  const old = linesOf(before);
  const now = linesOf(after);
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old[old.length - 1 - end] === now[now.length - 1 - end])
    end++;
  return { line: start + 1, removed: old.slice(start, old.length - end), added: now.slice(start, now.length - end) };
}

function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

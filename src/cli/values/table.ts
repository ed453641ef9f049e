import { stripVTControlCharacters } from "node:util";

/** Rows in columns. A row that is wider than the terminal is cut at its last column; without a terminal nothing is cut. */
export function formatTable(rows: readonly (readonly string[])[], columns?: number): string {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) => Math.max(...rows.map((row) => widthOf(row[at] ?? ""))));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0);
  const last = columns === undefined ? undefined : Math.max(minLast, columns - before - 1);
  return rows
    .map((row) =>
      row
        .map((cell, at) => (at === count - 1 ? cut(cell, last) : padded(cell, widths[at] ?? 0)))
        .join(gap)
        .trimEnd(),
    )
    .join("\n");
}

const gap = "  ";
const minLast = 20;

function padded(cell: string, width: number): string {
  return cell + " ".repeat(Math.max(0, width - widthOf(cell)));
}

/** How many columns a text takes, without its colours. */
export function widthOf(text: string): number {
  return [...stripVTControlCharacters(text)].reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);
}

/** Ideographs and pictures take two columns. */
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}]/u;

function cut(cell: string, width: number | undefined): string {
  if (width === undefined || widthOf(cell) <= width) return cell;
  return `${[...stripVTControlCharacters(cell)].slice(0, width - 1).join("")}…`;
}

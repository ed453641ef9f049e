/** A table in Markdown, with columns that line up when read as text. */
export function table(head, rows) {
  const cells = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column].length), 3));
  const line = (row) => `| ${row.map((cell, column) => pad(cell, widths[column], column)).join(" | ")} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [line(cells[0]), rule, ...cells.slice(1).map(line)].join("\n");
}

const pad = (text, width, column) => (column === 0 ? text.padEnd(width) : text.padStart(width));

/** Three digits that count. */
export function figure(value) {
  if (value >= 1000) return Math.round(value).toLocaleString("en");
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

export const percent = (value) => `${Math.round(value * 100)} %`;

/** A ratio with its spread. */
export const times = ({ median, iqr, n }) => `${figure(median)} x${n > 1 ? ` ± ${percent(iqr / 2)}` : ""}`;

/** One cell, all its measures. Ratios say how many times as good a peer is. */
export function cellTable({ title, measures, against, load }) {
  const head = ["", ...measures.flatMap(({ label }) => [label, "IQR", ...against.map((other) => `vs ${other}`)])];
  const peers = Object.keys(measures[0].peers);
  const rows = peers.map((peer) => [
    peer,
    ...measures.flatMap(({ peers: by }) => {
      const { median, iqr, versus } = by[peer];
      return [
        figure(median),
        percent(iqr),
        ...against.map((other) => (versus[other] ? figure(versus[other].median) : "")),
      ];
    }),
  ]);
  const seen = load === undefined ? "" : ` (generator ${figure(load.generator)} cores, others ${figure(load.foreign)})`;
  return `${title}${seen}\n\n${table(head, rows)}`;
}

/** What had to be, and what became of it. */
export function verdictTable(verdicts) {
  const rows = verdicts.map(({ title, label, against, atLeast, atMost, verdict, ...value }) => [
    title,
    label ?? "",
    `${atLeast === undefined ? `at most ${figure(atMost)} x` : `at least ${figure(atLeast)} x`} ${against}`,
    value.median === undefined ? "" : times(value),
    verdict,
  ]);
  return table(["target", "measure", "limit", "found", "verdict"], rows);
}

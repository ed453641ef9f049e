// Bars in SVG, by hand: readable on light and on dark pages.

const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .small { font-size: 11px; fill: #59636e; }
  .axis { stroke: #d1d9e0; }
  .limit { stroke: #59636e; stroke-dasharray: 4 3; }
  .bar { fill: #afb8c1; }
  .plugbay { fill: #0969da; }
  .spread { stroke: #59636e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .axis { stroke: #3d444d; }
    .limit { stroke: #9198a1; }
    .bar { fill: #57606a; }
    .plugbay { fill: #4493f8; }
    .spread { stroke: #9198a1; }
  }`;

const width = 760;
const left = 100;
const right = 70;
const bar = 16;
const gap = 4;
const titleHeight = 30;
const scale = width - left - right;

/**
 * Groups of bars, one for each peer of a workload: `{ title, bars: [{ name, median, iqr }] }`.
 * A value of 1 is as good as the limit; bars end at `most`.
 */
export function barPlot(title, groups, most = 1.2) {
  let y = 34;
  const parts = [];
  for (const group of groups) {
    parts.push(text(0, y + 16, group.title));
    y += titleHeight;
    for (const entry of group.bars) {
      parts.push(drawBar(entry, y, most));
      y += bar + gap;
    }
    y += 8;
  }
  const limit = place(1, most);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 22}" width="${width}" height="${y + 22}" role="img">
<title>${escaped(title)}</title>
<style>${style}
</style>
${line("axis", [left, 26], [left, y])}
${line("limit", [limit, 26], [limit, y])}
${text(limit, 16, "bare limit", 'class="small" text-anchor="middle"')}
${parts.join("\n")}
</svg>
`;
}

const place = (value, most) => left + (Math.min(value, most) / most) * scale;

function drawBar({ name, median, iqr }, y, most) {
  const end = place(median, most);
  const middle = y + bar / 2;
  const spread = [median * (1 - iqr / 2), median * (1 + iqr / 2)].map((value) => [place(value, most), middle]);
  return [
    text(left - 8, y + 12, name, 'class="small" text-anchor="end"'),
    `<rect class="${name === "plugbay" ? "plugbay" : "bar"}" x="${left}" y="${y}" width="${(end - left).toFixed(1)}" height="${bar}" rx="2"/>`,
    line("spread", ...spread),
    text(Math.max(end, spread[1][0]) + 6, y + 12, median.toFixed(2), 'class="small"'),
  ].join("\n");
}

const line = (kind, [x1, y1], [x2, y2]) =>
  `<line class="${kind}" x1="${x1.toFixed(1)}" y1="${y1}" x2="${x2.toFixed(1)}" y2="${y2}"/>`;

const text = (x, y, words, attributes = "") =>
  `<text x="${typeof x === "number" ? x.toFixed(0) : x}" y="${y}" ${attributes}>${escaped(words)}</text>`;

const escaped = (words) => words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

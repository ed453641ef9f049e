import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readStats } from "../scripts/stats.mjs";
import { root } from "./e2e/support/places.ts";

// ADR 63 has figures of the source. They are written by hand, and go stale.

const page = readFileSync(join(root, "docs/adr/0063-figures-of-the-source.md"), "utf8");

/** The first number in a cell of the row that begins so, from the first cell behind its name. */
function cellOf(row: string, column: number): number {
  const line = page.split("\n").find((text) => text.startsWith(`| ${row}`));
  const cell = line?.split("|")[column + 2] ?? "";
  return Number(/[\d,]+/.exec(cell)?.[0].replaceAll(",", ""));
}

describe("docs/adr/0063-figures-of-the-source.md", () => {
  const { lines, files, smallFiles, filesWithOneImporter, legacyLinesOutside } = readStats();

  it.each([
    ["source lines without tests", lines],
    ["source files", files],
    ["files of at most 50 lines", smallFiles],
    ["files with one importer", filesWithOneImporter],
    ["lines only for older revisions outside", legacyLinesOutside],
  ])("has today's figure for %s, within 5 %%", (row, found) => {
    const told = cellOf(row, 2);
    expect(Math.abs(told - found) / found, `${told} there, ${found} found`).toBeLessThan(0.05);
  });

  it.each([
    ["stdio server"],
    ["HTTP server, 2026-07-28"],
    ["HTTP server, 2025-11-25"],
    ["client, HTTP"],
    ["client, stdio"],
  ])("has the files of a call as ARCHITECTURE.md lists them: %s", (path) => {
    const [, block] =
      readFileSync(join(root, "ARCHITECTURE.md"), "utf8").split(`\n### ${path}\n`)[1]?.split("```") ?? [];
    const files = block?.match(/^\S+\.ts/gm) ?? [];
    expect(files.length).toBeGreaterThan(15);
    expect(cellOf(`${path} |`, 0)).toBe(files.length);
  });
});

// Prints figures about the shape of the source: `npm run stats`, `npm run stats -- --json`.
//
// A cycle is a set of files that reach each other by imports, imports of types included. A seam, which loads a part of
// `src/legacy` by a name of `package.json` `imports`, is no edge: the package builds without what is behind it.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { outsideLegacy } from "./older-revisions.mjs";
import { root } from "./run.mjs";

const SMALL = 50;

/** Files that serve only revisions before 2026-07-28, by their names. Those outside of `src/legacy` are listed by what they do. */
const isLegacy = ({ name }) => /(^|\/)(legacy|sse-)[^/]*(\/|\.ts$)|\/r202[45]-/.test(name);

/** Files that load a part of `src/legacy`. */
const isSeam = ({ text }) => /\bimport\(\s*"#legacy\//.test(text);

/** The figures of `src`. */
export function readStats() {
  const folder = join(root, "src");
  const files = sourceFiles(folder);
  const graph = new Map(files.map(({ path, text }) => [path, importsOf(path, text).filter((to) => to !== path)]));
  const lines = (of) => of.reduce((sum, { text }) => sum + text.split("\n").length - 1, 0);
  const importers = new Map();
  for (const [from, targets] of graph) {
    for (const to of new Set(targets)) importers.set(to, [...(importers.get(to) ?? []), from]);
  }
  const seams = files.filter(isSeam);
  const legacy = files.filter((file) => isLegacy(file) && !isSeam(file));
  const named = legacy.filter(({ name }) => !name.startsWith("legacy/"));
  const outside = lines(named) + linesOutside(files, lines);
  return {
    lines: lines(files),
    files: files.length,
    smallFiles: files.filter(({ text }) => text.split("\n").length - 1 <= SMALL).length,
    filesWithOneImporter: files.filter(({ path }) => importers.get(path)?.length === 1).length,
    cycles: cyclesOf(graph).map((cycle) => cycle.map((path) => nameOf(folder, path)).sort()),
    legacyLines: lines(legacy) - lines(named) + outside,
    seams: seams.map(({ name }) => name).sort(),
    seamLines: lines(seams),
    legacyLinesOutside: outside,
  };
}

/** Lines of the list of what is outside of `src/legacy`. Throws where a file of the list has fewer, or is gone. */
function linesOutside(files, lines) {
  return outsideLegacy.reduce((sum, { file, lines: count }) => {
    const found = files.find(({ name }) => `src/${name}` === file);
    const most = found === undefined ? 0 : lines([found]);
    if (found === undefined || (count !== "all" && count > most)) {
      throw new Error(`${file} of scripts/older-revisions.mjs has no ${count} lines`);
    }
    return sum + (count === "all" ? most : count);
  }, 0);
}

function sourceFiles(folder) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/\.test(-d)?\.ts$/.test(file))
    .map((file) => {
      const path = join(folder, file);
      return { path, name: nameOf(folder, path), text: readFileSync(path, "utf8") };
    });
}

function nameOf(folder, path) {
  return path
    .slice(folder.length + 1)
    .split(sep)
    .join("/");
}

/** The files that a file imports, statically, dynamically or for their types. */
function importsOf(path, text) {
  const statics = text.matchAll(/^(?:import|export)\b(?:[^"';]*?from)?\s*["'](\.[^"']+)["']/gms);
  const dynamics = text.matchAll(/\bimport\(\s*["'](\.[^"']+)["']\s*\)/g);
  return [...statics, ...dynamics].map(([, specifier]) => resolve(dirname(path), specifier));
}

/** The strongly connected components with more than one file (Tarjan). */
function cyclesOf(graph) {
  const index = new Map();
  const low = new Map();
  const stack = [];
  const onStack = new Set();
  const found = [];
  const visit = (path) => {
    index.set(path, index.size);
    low.set(path, index.get(path));
    stack.push(path);
    onStack.add(path);
    for (const to of graph.get(path) ?? []) {
      if (!index.has(to)) {
        visit(to);
        low.set(path, Math.min(low.get(path), low.get(to)));
      } else if (onStack.has(to)) low.set(path, Math.min(low.get(path), index.get(to)));
    }
    if (low.get(path) !== index.get(path)) return;
    const component = stack.splice(stack.indexOf(path));
    for (const member of component) onStack.delete(member);
    if (component.length > 1) found.push(component);
  };
  for (const path of graph.keys()) if (!index.has(path)) visit(path);
  return found;
}

function print(stats) {
  const rows = [
    ["source lines without tests", stats.lines],
    ["source files", stats.files],
    [`files of at most ${SMALL} lines`, stats.smallFiles],
    ["files with one importer", stats.filesWithOneImporter],
    ["import cycles, types included", stats.cycles.length],
    ["lines only for older revisions", stats.legacyLines],
    ["of these outside src/legacy", stats.legacyLinesOutside],
    ["lines of seams to src/legacy", stats.seamLines],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) console.log(`${name.padEnd(width)}  ${String(value).padStart(6)}`);
  for (const cycle of stats.cycles) console.log(`cycle: ${cycle.join(", ")}`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const stats = readStats();
  if (process.argv.includes("--json")) console.log(JSON.stringify(stats, undefined, 2));
  else print(stats);
}

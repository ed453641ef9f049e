import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { binary } from "../../scripts/run.mjs";
import { cells } from "../cells/all.mjs";
import { analyse } from "./run-cell.mjs";

const file = fileURLToPath(new URL("../results.json", import.meta.url));

/** The samples that are kept, and what follows from them, in the order of the cells. */
export function readResults() {
  const { samples, ...facts } = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { samples: {} };
  const known = cells.filter(({ name }) => samples[name] !== undefined);
  return { ...facts, cells: known.map((cell) => analyse(cell, samples[cell.name])) };
}

/** Keeps the samples of some cells, and those of all others that were taken of the same build in the same way. */
export function keepResults(facts, results) {
  const { cells: kept, ...before } = readResults();
  const isSame = JSON.stringify(before) === JSON.stringify(facts);
  const all = [...(isSame ? kept : []), ...results];
  const samples = Object.fromEntries(all.map(({ name, samples }) => [name, samples]));
  writeFileSync(file, JSON.stringify({ ...facts, samples }));
  spawnSync(process.execPath, [binary("@biomejs/biome", "biome"), "format", "--write", file], { stdio: "ignore" });
  return readResults();
}

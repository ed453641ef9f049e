// Measures plugbay, its peers and the bare limit side by side: `npm run bench -- --help`.
import { parseArgs } from "node:util";
import { build } from "../scripts/build.mjs";
import { cells } from "./cells/all.mjs";
import { fingerprint } from "./lib/fingerprint.mjs";
import { installPeers } from "./lib/install.mjs";
import { machine } from "./lib/machine.mjs";
import { writePage } from "./lib/page.mjs";
import { createProgress } from "./lib/progress.mjs";
import { keepResults, readResults } from "./lib/results.mjs";
import { lengths } from "./lib/rounds.mjs";
import { analyse, runCell } from "./lib/run-cell.mjs";
import { cellTable, verdictTable } from "./lib/tables.mjs";
import { verdictsOf } from "./lib/verdicts.mjs";
import { targets } from "./targets.mjs";

const usage = `usage: npm run bench -- [options]
  --quick           against the bare limit only, fewer cells and rounds: under 90 seconds
  --only PATTERN    cells whose name matches, such as http/modern or stdio/64
  --peers A,B       only these peers
  --targets         only cells and peers that the targets are about: a third of the time
  --rounds N        other than ${lengths.full.rounds}
  --json            results as JSON on stdout instead of tables
  --write           writes the results of a part into bench/results.json too; a whole run does so anyway
  --page            measures nothing: makes plots and docs/performance.md anew from bench/results.json
  --list            the names of all cells
  --no-build        measures dist as it is`;

const options = readOptions();
if (options.list) list();
if (options.page) {
  writePage(readResults());
  process.exit();
}
installPeers();
if (!options["no-build"] && build() !== 0) process.exit(1);

const length = { ...(options.quick ? lengths.quick : lengths.full), ...(options.rounds && { rounds: options.rounds }) };
const chosen = cells.map((cell) => ({ cell, peers: peersOf(cell) })).filter(({ peers }) => peers.length > 0);
if (chosen.length === 0) fail("no cell matches; see --list");

const measured = fingerprint();
const start = performance.now();
const results = await measure();
const verdicts = verdictsOf(targets, results).filter(({ verdict }) => verdict !== "not measured");
const seconds = Math.round((performance.now() - start) / 1000);

if (options.json) console.log(JSON.stringify({ machine: machine(), length, seconds, verdicts, cells: results }));
else console.log(`${verdictTable(verdicts)}\n\n${seconds} s`);
const isWhole = !options.quick && !options.only && !options.peers && !options.targets;
if (fingerprint() !== measured) fail("dist has changed meanwhile: these are figures of two builds, and are not kept");
if (isWhole || options.write) writePage(keepResults({ machine: machine(), build: measured, length }, results));
process.exit();

/** Measures what was chosen, and shows each cell when it is done. A cell that fails is left out. */
async function measure() {
  const progress = createProgress(chosen.length);
  const results = [];
  for (const { cell, peers } of chosen) {
    const report = progress.next(cell.name);
    try {
      const result = analyse(cell, await runCell(cell, { peers, length, report }));
      results.push(result);
      progress.clear();
      if (!options.json) console.log(`${cellTable(result)}\n`);
    } catch (error) {
      progress.clear();
      console.error(`${cell.name} failed: ${error.stack}`);
      process.exitCode = 1;
    }
  }
  return results;
}

function list() {
  for (const { name, title } of cells) console.log(`${name.padEnd(24)} ${title}`);
  process.exit();
}

/** Who takes part in a cell; nobody if it is not wanted. */
function peersOf(cell) {
  if (options.only && !new RegExp(options.only).test(cell.name)) return [];
  const able = options.targets ? cell.peers.filter((peer) => isTarget(cell.name, peer)) : cell.peers;
  const peers = options.quick ? able.filter((peer) => cell.quick.includes(peer)) : able;
  const wanted = options.peers?.split(",");
  return wanted === undefined ? peers : peers.filter((peer) => wanted.some((name) => peer.startsWith(name)));
}

/** Whether a peer of a cell is judged, or one is judged by it. */
function isTarget(name, peer) {
  const limits = targets.flatMap((target) => target.limits).filter(({ cell }) => cell === name);
  return limits.some(({ against, peer: judged = "plugbay" }) => peer === against || peer === judged);
}

function readOptions() {
  const flag = { type: "boolean" };
  const known = {
    quick: flag,
    json: flag,
    write: flag,
    page: flag,
    list: flag,
    help: flag,
    "no-build": flag,
    only: { type: "string" },
    peers: { type: "string" },
    targets: flag,
    rounds: { type: "string" },
  };
  try {
    const { values } = parseArgs({ options: known });
    if (values.help) {
      console.log(usage);
      process.exit();
    }
    return { ...values, ...(values.rounds && { rounds: Number(values.rounds) }) };
  } catch (error) {
    return fail(`${error.message}\n${usage}`);
  }
}

function fail(message) {
  console.error(message);
  process.exit(2);
}

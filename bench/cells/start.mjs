import { execFileSync, spawn } from "node:child_process";
import { lineSplitter } from "../lib/line-splitter.mjs";
import { cost } from "../lib/measures.mjs";
import { add, initialize, initialized, isSum } from "../lib/messages.mjs";
import { folderOf, imports, stdioPrograms, writeProgram } from "../lib/programs.mjs";

export const startCells = [
  {
    name: "start/stdio",
    times: 3,
    title: "start of a stdio server",
    group: "start",
    peers: Object.keys(stdioPrograms),
    quick: ["bare", "plugbay", "v2"],
    measures: [cost("answer", "to its first answer, ms"), cost("call", "to the result of its first call, ms")],
    run: (options) => inTurns(options, startServer),
  },
  {
    name: "start/import",
    title: "import of what a stdio server needs",
    group: "start",
    peers: Object.keys(imports),
    quick: ["plugbay", "v2"],
    measures: [cost("cpu", "CPU, ms")],
    run: (options) => inTurns(options, importAll),
  },
];

/** Every peer once in every round, forth and back; one round more, which does not count, fills the caches of the disk. */
async function inTurns({ peers, length, report }, measure) {
  const samples = Object.fromEntries(peers.map((peer) => [peer, []]));
  for (let round = -1; round < length.rounds; round++) {
    report(`round ${round + 1} of ${length.rounds}`);
    for (const peer of round % 2 === 0 ? peers : peers.toReversed()) {
      const sample = await measure(peer);
      if (round >= 0) samples[peer].push(sample);
    }
  }
  return samples;
}

/** Starts a server, opens a session and calls a tool. */
function startServer(peer) {
  const program = writeProgram(peer, `start-${peer.replaceAll(" ", "-")}.mjs`, stdioPrograms[peer]);
  const start = performance.now();
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (text) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    let answer;
    child.stdout.on(
      "data",
      lineSplitter((line) => {
        if (answer === undefined) {
          answer = performance.now() - start;
          child.stdin.write(`${initialized}\n${add(1, "legacy")}\n`);
        } else if (isSum(line, 1)) {
          resolve({ answer, call: performance.now() - start });
          child.kill("SIGKILL");
        } else if (line.includes('"id":1')) {
          reject(new Error(`${peer} answered wrongly: ${line}`));
          child.kill("SIGKILL");
        }
      }),
    );
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`${peer} ended with ${code}: ${stderr}`)));
    child.stdin.on("error", () => {});
    child.stdin.write(`${initialize(0)}\n`);
  });
}

/** Processor time that a fresh process takes: what else runs on the machine does not count. */
function importAll(peer) {
  const script = `
    const before = process.cpuUsage();
    for (const name of ${JSON.stringify(imports[peer])}) await import(name);
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1000);
    process.exit();
  `;
  const path = writeProgram(peer, `import-${peer}.mjs`, script);
  return { cpu: Number(execFileSync(process.execPath, [path], { encoding: "utf8", cwd: folderOf(peer) })) };
}

// How long commands take with and without --warm, from start to exit, in turn: a server behind npx, and one that starts fast.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const program = join(root, "dist", "node", "plugbay.js");
const home = mkdtempSync(join(tmpdir(), "plugbay-warm-"));
const env = { PATH: process.env.PATH, HOME: home };
const runs = 11;

const cases = [
  { name: "behind npx", call: ["call", "echo", "message=hi"], target: ["npx", "mcp-server-everything"] },
  { name: "node", call: ["call", "buy", "sku=1"], target: ["node", "test/fixtures/children/shop-server.mjs"] },
];

function run(args, target) {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [program, ...args, ...target], {
    cwd: root,
    env,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return performance.now() - start;
}

const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

try {
  for (const { name, call, target } of cases) {
    const words = ["--", ...target];
    run(["--warm", "tools"], words);
    for (const args of [["tools"], call]) {
      const times = Array.from({ length: runs }, () => [run(args, words), run(["--warm", ...args], words)]);
      const [cold, warm] = [0, 1].map((side) => median(times.map((pair) => pair[side])));
      console.log(
        `${name}, ${args[0]}: ${cold.toFixed(0)} ms, warm ${warm.toFixed(0)} ms, ratio ${(warm / cold).toFixed(2)}`,
      );
    }
  }
} finally {
  run(["warm", "stop", "--all"], []);
  rmSync(home, { recursive: true, force: true });
}

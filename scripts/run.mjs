import { spawn, spawnSync } from "node:child_process";
import { closeSync, openSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");

const require = createRequire(import.meta.url);

/** The script behind a binary of an installed package. */
export function binary(name, bin = name) {
  const manifest = require.resolve(`${name}/package.json`, { paths: [root] });
  const field = require(manifest).bin;
  return resolve(dirname(manifest), typeof field === "string" ? field : field[bin]);
}

/** Runs a Node script in the root with this Node and returns its exit code. */
export function node(script, ...args) {
  const { status, signal, error } = spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: "inherit" });
  if (error) throw error;
  return signal ? 1 : (status ?? 1);
}

/** How long a process that has ended may have more to say: something that it started may never end. */
const LAST_WORDS_MS = 5_000;

/** Like {@link node}, and puts what the script says into a file as well. */
export async function nodeInto(file, script, ...args) {
  const colors = process.stdout.isTTY && !process.env.NO_COLOR ? { FORCE_COLOR: "1" } : {};
  const env = { ...colors, ...process.env };
  const child = spawn(process.execPath, [script, ...args], { cwd: root, stdio: ["inherit", "pipe", "pipe"], env });
  const log = openSync(file, "w");
  for (const name of ["stdout", "stderr"]) {
    child[name].on("data", (chunk) => {
      writeSync(log, chunk);
      process[name].write(chunk);
    });
  }
  // Ctrl-C is for the script, too, which knows how to end.
  const wait = () => {};
  process.on("SIGINT", wait);
  const code = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve(status ?? 1));
    child.on("exit", (status) => setTimeout(resolve, LAST_WORDS_MS, status ?? 1).unref());
  });
  process.off("SIGINT", wait);
  for (const name of ["stdout", "stderr"]) child[name].destroy();
  closeSync(log);
  return code;
}

/** Runs steps in order, says how long each took, and stops at the first that fails. */
export function steps(list) {
  for (const [name, run] of list) {
    const start = performance.now();
    const code = run();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
    if (code !== 0) process.exit(code);
  }
}

import { spawnSync } from "node:child_process";
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

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Installs the peers that only the benchmarks need, unless what the lock says is there already. */
export function installPeers() {
  const stamp = join(folder, "node_modules", ".installed");
  const wanted = createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  console.error("installing the peers that only the benchmarks need");
  const { status, error } = spawnSync("npm", ["ci", "--ignore-scripts", "--prefer-offline", "--loglevel=error"], {
    cwd: folder,
    shell: process.platform === "win32",
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error(`they cannot be installed${error ? `: ${error.message}` : ""}`);
  writeFileSync(stamp, wanted);
}

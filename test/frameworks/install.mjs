// Installs what a folder beside this file names, into another folder, unless it is there already:
//
//   node test/frameworks/install.mjs next .tmp/next
//
// Ends with 69 when there is no network to install from.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const UNAVAILABLE = 69;
const [name, folder] = process.argv.slice(2);
const here = join(dirname(fileURLToPath(import.meta.url)), name);
const stamp = join(folder, "node_modules", ".installed");
const wanted = `${process.platform}-${process.arch}\n${readFileSync(join(here, "package-lock.json"), "utf8")}`;

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) install();

function install() {
  mkdirSync(folder, { recursive: true });
  for (const file of ["package.json", "package-lock.json", ".npmrc"])
    copyFileSync(join(here, file), join(folder, file));
  const args = ["ci", "--prefer-offline", "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"];
  const { status, stderr, error } = spawnSync("npm", args, {
    cwd: folder,
    shell: process.platform === "win32",
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status === 0) return writeFileSync(stamp, wanted);
  console.error(`${name} cannot be installed: ${error?.message ?? stderr}`);
  const offline = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED)\b/;
  process.exit(offline.test(stderr ?? "") ? UNAVAILABLE : 1);
}

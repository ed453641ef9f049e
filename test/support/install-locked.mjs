// Installs the packages of a lock file into a folder, unless they are there already:
//
//   node test/support/install-locked.mjs test/frameworks/next .tmp/next
//
// Ends with 69 when there is no network to install from.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const UNAVAILABLE = 69;
const [source, folder] = process.argv.slice(2);
const stamp = join(folder, "node_modules", ".installed");
const wanted = `${process.platform}-${process.arch}\n${readFileSync(join(source, "package-lock.json"), "utf8")}`;

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) install();

function install() {
  mkdirSync(folder, { recursive: true });
  for (const name of ["package.json", "package-lock.json", ".npmrc"]) {
    copyFileSync(join(source, name), join(folder, name));
  }
  const args = ["ci", "--prefer-offline", "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000"];
  const { status, stderr, error } = spawnSync("npm", args, {
    cwd: folder,
    shell: process.platform === "win32",
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status === 0) return writeFileSync(stamp, wanted);
  console.error(`${source} cannot be installed: ${error?.message ?? stderr}`);
  const offline = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED)\b/;
  process.exit(offline.test(stderr ?? "") ? UNAVAILABLE : 1);
}
